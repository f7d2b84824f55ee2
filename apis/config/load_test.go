package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/v1beta2"
)

// file is a configuration of a version with some stanzas.
func file(version, stanzas string) []byte {
	return []byte("apiVersion: config.kueue.x-k8s.io/" + version + "\nkind: Configuration\n" + stanzas)
}

func load(t *testing.T, version, stanzas string) *v1beta2.Configuration {
	t.Helper()
	c, err := config.Load(file(version, stanzas))
	if err != nil {
		t.Fatalf("%s: %v", stanzas, err)
	}
	return c
}

func minutes(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Minute}
}

func TestAnEmptyFileHasTheDefaultsOfTheContract(t *testing.T) {
	want := &v1beta2.Configuration{
		TypeMeta:  metav1.TypeMeta{APIVersion: "config.kueue.x-k8s.io/v1beta2", Kind: "Configuration"},
		Namespace: ptr.To("kueue-system"),
		Webhook:   v1beta2.Webhook{Port: ptr.To(9443)},
		Metrics:   v1beta2.Metrics{BindAddress: ":8443", LocalQueueMetrics: &v1beta2.LocalQueueMetrics{Enable: ptr.To(true)}},
		Health:    v1beta2.Health{HealthProbeBindAddress: ":8081"},
		LeaderElection: &componentconfig.LeaderElectionConfiguration{
			LeaderElect: ptr.To(true), ResourceLock: "leases", ResourceName: "c1f6bfd2.kueue.x-k8s.io",
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
			RetryPeriod:   metav1.Duration{Duration: 2 * time.Second},
		},
		Controller: &v1beta2.Controller{GroupKindConcurrency: map[string]int{
			"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 10, "LocalQueue.kueue.x-k8s.io": 5,
			"Cohort.kueue.x-k8s.io": 1, "ClusterQueue.kueue.x-k8s.io": 5, "ResourceFlavor.kueue.x-k8s.io": 1,
		}},
		ManagedJobsNamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "kubernetes.io/metadata.name", Operator: "NotIn", Values: []string{"kube-system", "kueue-system"}},
		}},
		InternalCertManagement: &v1beta2.InternalCertManagement{
			Enable: ptr.To(true), WebhookServiceName: ptr.To("kueue-webhook-service"), WebhookSecretName: ptr.To("kueue-webhook-server-cert"),
		},
		ClientConnection: &v1beta2.ClientConnection{QPS: ptr.To[float32](300), Burst: ptr.To[int32](500)},
		WaitForPodsReady: &v1beta2.WaitForPodsReady{
			Timeout: minutes(30), BlockAdmission: ptr.To(false), RecoveryTimeout: minutes(30),
			RequeuingStrategy: &v1beta2.RequeuingStrategy{
				Timestamp: ptr.To(v1beta2.EvictionTimestamp), BackoffBaseSeconds: ptr.To[int32](60), BackoffMaxSeconds: ptr.To[int32](3600),
			},
		},
		Integrations: &v1beta2.Integrations{Frameworks: []string{"batch/job"}},
		MultiKueue: &v1beta2.MultiKueue{
			GCInterval: minutes(1), Origin: ptr.To("multikueue"), WorkerLostTimeout: minutes(15),
			DispatcherName: ptr.To("kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
			Access:         &v1beta2.MultiKueueAccess{Enable: ptr.To(true)},
		},
		VisibilityServer: &v1beta2.VisibilityServer{BindPort: ptr.To[int32](8082)},
	}
	for name, data := range map[string][]byte{"nothing": nil, "no stanzas": file("v1beta2", "")} {
		got, err := config.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatTheFileSaysStands(t *testing.T) {
	c := load(t, "v1beta2", `
namespace: mine
multiKueue: {gcInterval: 0s, origin: "", dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental}
waitForPodsReady: {timeout: 5m}
resources: {transformations: [{input: a.b/c, outputs: {cpu: 2}}]}
admissionFairSharing: {usageHalfLifeTime: 1h}
metrics: {bindAddress: "0"}
`)
	got := map[string]any{
		"namespace is left alone":            c.ManagedJobsNamespaceSelector.MatchExpressions[0].Values[1],
		"no garbage collection":              c.MultiKueue.GCInterval.Duration,
		"an empty origin is none":            *c.MultiKueue.Origin,
		"incremental steps":                  *c.MultiKueue.IncrementalDispatcherConfig.StepSize,
		"recovery takes as long as starting": c.WaitForPodsReady.RecoveryTimeout.Duration,
		"inputs are retained":                *c.Resources.Transformations[0].Strategy,
		"undeclared resources block":         c.Resources.QuotaCheckStrategy,
		"samples":                            c.AdmissionFairSharing.UsageSamplingInterval.Duration,
		"no metrics":                         c.Metrics.BindAddress,
	}
	want := map[string]any{
		"namespace is left alone": "mine", "no garbage collection": time.Duration(0), "an empty origin is none": "multikueue",
		"incremental steps": int32(3), "recovery takes as long as starting": 5 * time.Minute, "inputs are retained": v1beta2.Retain,
		"undeclared resources block": v1beta2.BlockUndeclared, "samples": 5 * time.Minute, "no metrics": "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A retention has no upper bound, as that of the hub's own Workloads has none: how much a cluster can hold is known to its administrators.
func TestRetentionOnTheClusters(t *testing.T) {
	for _, c := range []struct {
		stanza string
		want   time.Duration
	}{
		{"", 0},
		{"objectRetentionPolicies: {}", 0},
		{"objectRetentionPolicies: {remoteObjects: {}}", 0},
		{"objectRetentionPolicies: {remoteObjects: {afterFinished: 0s}}", 0},
		{"objectRetentionPolicies: {remoteObjects: {afterFinished: 72h}}", 72 * time.Hour},
		{"objectRetentionPolicies: {remoteObjects: {afterFinished: 87600h}}", 87600 * time.Hour},
		{"access: {logTails: {}}", 30 * time.Second},
		{"access: {logTails: {}}, objectRetentionPolicies: {remoteObjects: {afterFinished: 10s}}", 30 * time.Second},
		{"access: {logTails: {}}, objectRetentionPolicies: {remoteObjects: {afterFinished: 72h}}", 72 * time.Hour},
	} {
		if got := load(t, "v1beta2", "multiKueue: {"+c.stanza+"}").MultiKueue.RetainFinished(); got != c.want {
			t.Errorf("%s: %s, want %s", c.stanza, got, c.want)
		}
	}
}

func TestTailsOfLogsAreKeptIfTheyAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		stanza string
		jobs   int32
		age    time.Duration
	}{
		{"", 0, 0},
		{"access: {enable: true}", 0, 0},
		{"access: {logTails: {}}", 500, 24 * time.Hour},
		{"access: {enable: false, logTails: {maxJobs: 5000}}", 5000, 24 * time.Hour},
		{"access: {logTails: {maxAge: 720h}}", 500, 720 * time.Hour},
	} {
		m := load(t, "v1beta2", "multiKueue: {"+c.stanza+"}").MultiKueue
		if m.KeepsLogTails() != (c.jobs > 0) {
			t.Errorf("%s: kept: %t", c.stanza, m.KeepsLogTails())
		}
		if tails := m.Access.LogTails; tails != nil && (*tails.MaxJobs != c.jobs || tails.MaxAge.Duration != c.age) {
			t.Errorf("%s: %d, %s", c.stanza, *tails.MaxJobs, tails.MaxAge.Duration)
		}
	}
}

func TestAWrongFileIsRefusedWithThePathOfWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, stanzas, want string }{
		{"an unknown field", "colour: red", `unknown field "colour"`},
		{"an unknown field below", "multiKueue: {colour: red}", `unknown field "multiKueue.colour"`},
		{"a field twice", "namespace: a\nnamespace: b", `"namespace" already set`},
		{"a field of the older version", "queueVisibility: {}", `unknown field "queueVisibility"`},
		{"a namespace that is none", "namespace: A_B", "namespace: Invalid value"},
		{"a port that is none", "webhook: {port: 70000}", "webhook.port: Invalid value: 70000"},
		{"a version of TLS that is none", "tls: {minVersion: TLS13}", `tls.minVersion: Unsupported value: "TLS13"`},
		{"suites with TLS 1.3", "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}", "tls.cipherSuites: Forbidden"},
		{"a suite that is weak", "tls: {cipherSuites: [TLS_RSA_WITH_RC4_128_SHA]}", "tls.cipherSuites[0]: Invalid value"},
		{"custom labels without their gate", "metrics: {customLabels: [{name: a, sourceLabelKey: b}]}", "metrics.customLabels: Forbidden: needs the feature gate CustomMetricLabels"},
		{"a custom label without source", "featureGates: {CustomMetricLabels: true}\nmetrics: {customLabels: [{name: a}]}", "metrics.customLabels[0]: Invalid value"},
		{"a custom label of jobs without values", "featureGates: {CustomMetricLabels: true}\nmetrics: {customLabels: [{name: a, sourceLabelKey: b, sourceKind: Workload}]}", "metrics.customLabels[0].trackedValues: Required"},
		{"a lease shorter than its renewal", "leaderElection: {leaseDuration: 1s}", "leaderElection.leaseDuration: Invalid value"},
		{"no workers", "controller: {groupKindConcurrency: {Job.batch: 0}}", "controller.groupKindConcurrency[Job.batch]: Invalid value: 0"},
		{"the system's jobs", "managedJobsNamespaceSelector: {}", `managedJobsNamespaceSelector: Invalid value: "<none>": must not match namespace "kube-system"`},
		{"its own jobs", "managedJobsNamespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kueue-system}}", `must not match namespace "kueue-system"`},
		{"a negative time to get ready", "waitForPodsReady: {timeout: -1s}", "waitForPodsReady.timeout: Invalid value"},
		{"a time stamp that is none", "waitForPodsReady: {requeuingStrategy: {timestamp: Now}}", "waitForPodsReady.requeuingStrategy.timestamp: Unsupported value"},
		{"a negative limit", "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}", "waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value"},
		{"a kind of job that is none", "integrations: {frameworks: [batch/cronjob]}", `integrations.frameworks[0]: Unsupported value: "batch/cronjob"`},
		{"a kind of job twice", "integrations: {frameworks: [pod, pod]}", "integrations.frameworks[1]: Duplicate value"},
		{"a kind of job without its gate", "integrations: {frameworks: [sparkoperator.k8s.io/sparkapplication]}", "needs the feature gate SparkApplicationIntegration"},
		{"an external kind in another form", "integrations: {externalFrameworks: [Foo]}", "integrations.externalFrameworks[0]: Invalid value"},
		{"an origin that is no label value", "multiKueue: {origin: '@'}", "multiKueue.origin: Invalid value"},
		{"a negative interval", "multiKueue: {gcInterval: -1s}", "multiKueue.gcInterval: Invalid value"},
		{"a negative grace", "multiKueue: {workerLostTimeout: -1s}", "multiKueue.workerLostTimeout: Invalid value"},
		{"a negative retention on the clusters", "multiKueue: {objectRetentionPolicies: {remoteObjects: {afterFinished: -1s}}}", "multiKueue.objectRetentionPolicies.remoteObjects.afterFinished: Invalid value"},
		{"tails of no job", "multiKueue: {access: {logTails: {maxJobs: 0}}}", "multiKueue.access.logTails.maxJobs: Invalid value: 0: must be from 1 to 5000; without logTails none are kept"},
		{"tails of too many jobs", "multiKueue: {access: {logTails: {maxJobs: 5001}}}", "multiKueue.access.logTails.maxJobs: Invalid value"},
		{"tails that are kept for no time", "multiKueue: {access: {logTails: {maxAge: 0s}}}", `multiKueue.access.logTails.maxAge: Invalid value: "0s": must be more than 0 and at most 720h0m0s`},
		{"tails that are kept for too long", "multiKueue: {access: {logTails: {maxAge: 721h}}}", "multiKueue.access.logTails.maxAge: Invalid value"},
		{"steps of another dispatcher", "multiKueue: {incrementalDispatcherConfig: {stepSize: 2}}", "multiKueue.incrementalDispatcherConfig: Forbidden"},
		{"steps of nothing", "multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental, incrementalDispatcherConfig: {stepSize: 0}}", "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value"},
		{"an external kind twice", "multiKueue: {externalFrameworks: [{name: A.v1.b}, {name: A.v1.b}]}", "multiKueue.externalFrameworks[1].name: Duplicate value"},
		{"an external kind that is built in", "multiKueue: {externalFrameworks: [{name: Job.v1.batch}]}", "conflicts with a built-in MultiKueue adapter"},
		{"providers in both spellings", "multiKueue: {clusterProfile: {accessProviders: [{name: a, execConfig: {command: c, apiVersion: v}}], credentialsProviders: [{name: a, execConfig: {command: c, apiVersion: v}}]}}", "multiKueue.clusterProfile.credentialsProviders: Forbidden"},
		{"a provider without a command", "multiKueue: {clusterProfile: {accessProviders: [{name: a, execConfig: {apiVersion: v}}]}}", "multiKueue.clusterProfile.accessProviders[0].execConfig.command: Required"},
		{"fair sharing without strategies", "fairSharing: {}", "fairSharing.preemptionStrategies: Required"},
		{"strategies in another order", "fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}", "fairSharing.preemptionStrategies: Invalid value"},
		{"a negative weight", "admissionFairSharing: {resourceWeights: {cpu: -1}}", "admissionFairSharing.resourceWeights[cpu]: Invalid value"},
		{"two ways to leave resources out", "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}", "resources.excludeResourcePrefixes: Forbidden"},
		{"a resource transformed twice", "resources: {transformations: [{input: a}, {input: a}]}", "resources.transformations[1].input: Duplicate value"},
		{"a source both counter and capacity", "resources: {deviceClassMappings: [{name: a, deviceClassNames: [b], sources: [{}]}]}", "resources.deviceClassMappings[0].sources[0]: Invalid value"},
		{"a negative retention", "objectRetentionPolicies: {workloads: {afterFinished: -1s}}", "objectRetentionPolicies.workloads.afterFinished: Invalid value"},
		{"a gate that is none", "featureGates: {Teleport: true}", "unrecognized feature gate: Teleport"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Load(file("v1beta2", c.stanzas))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestEverythingThatIsWrongIsToldAtOnce(t *testing.T) {
	_, err := config.Load(file("v1beta2", "namespace: A_B\nwebhook: {port: 0}\nfairSharing: {}"))
	for _, want := range []string{"namespace", "webhook.port", "fairSharing.preemptionStrategies"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
}

func TestAFileOfAnotherKindOrVersionIsRefused(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Settings", `kind is "Settings"`},
		{"apiVersion: config.kueue.x-k8s.io/v1\nkind: Configuration", `apiVersion is "config.kueue.x-k8s.io/v1"`},
		{"no: [yaml", "decoding the configuration"},
	} {
		if _, err := config.Load([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.data, err, c.want)
		}
	}
}
