package worker

import (
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config/configtest"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/controller/workload"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/manager"
	"switchyard.dev/worker/metrics"
	"switchyard.dev/worker/view"
)

// given are the settings of a configuration file, with gates turned to the other side.
func given(t *testing.T, file string, turned ...features.Name) manager.Settings {
	t.Helper()
	cfg, gates := configtest.Given(t, file, turned...)
	return manager.Settings{Configuration: cfg, Gates: gates}
}

// everything is a file that asks for something else than the defaults wherever it can.
const everything = `
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {team: a}}
controller: {groupKindConcurrency: {Job.batch: 3}}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset], labelKeysToCopy: [a], externalFrameworks: [Foo.v1.example.com]}
metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: false}}
resources:
  quotaCheckStrategy: IgnoreUndeclared
  transformations: [{input: example.com/a, outputs: {example.com/b: 2}}]
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: 1m, resourceWeights: {cpu: 2}}
waitForPodsReady:
  timeout: 1m
  recoveryTimeout: 2m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 7, backoffMaxSeconds: 9}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 2h}}
`

// unchosen are fields that no configuration decides.
func unchosen() []string {
	return []string{
		"act.MetricsOptions.CohortsAbove",   // where a queue is, not what is asked for
		"capacity.Options.MoreKinds",        // what JobKinds declare, not the configuration
		"cycle.Options.MaxAdmissions",       // how long a newcomer waits behind a batch is the loop's affair
		"job.Options.Clock",                 // tests only
		"job.Options.Created",               // whom to tell, not what to do
		"job.Options.Dispatches",            // which program it is: a hub's, or not
		"job.Options.ElasticPods",           // who looks at pods; the gate decides whether any job is elastic
		"job.Options.Follow",                // whom to tell, not what to do
		"job.Options.Ungated",               // whom to tell, not what to do
		"job.Options.Stale",                 // no choice: an epoch that is over is over
		"lifecycle.Policy.OwnerGracePeriod", // who plays an owner has some seconds, whatever is asked for
	}
}

// fields renders each field of a struct, those of structs in it too, by its name; functions count as there or not.
func fields(prefix string, of any) map[string]any {
	found := map[string]any{}
	v := reflect.ValueOf(of)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return found
	}
	for i := range v.NumField() {
		name := prefix + "." + v.Type().Field(i).Name
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Type().PkgPath() != "time" {
			for inner, value := range fields(name, f.Interface()) {
				found[inner] = value
			}
		} else if f.Kind() == reflect.Func {
			found[name] = f.IsNil()
		} else {
			found[name] = f.Interface()
		}
	}
	return found
}

// options are all fields that the settings decide.
func options(t *testing.T, s manager.Settings) map[string]any {
	t.Helper()
	kinds, err := Kinds(s)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := jobOptions(s, kinds)
	if err != nil {
		t.Fatal(err)
	}
	seen := viewOptions(s)
	metrics, err := metrics.OptionsFor(s.Configuration, view.New(seen))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	policy := workload.PolicyFor(s.Configuration, s.Gates)
	for prefix, of := range map[string]any{
		"cycle.Options": cycleOptions(s), "view.Options": seen, "usage.Options": seen.Usage, "lifecycle.Policy": policy,
		"lifecycle.PodsReadyPolicy": policy.PodsReady, "job.Options": jobs, "act.MetricsOptions": metrics,
		"capacity.Options": capacityOptions(s, kinds),
	} {
		for name, value := range fields(prefix, of) {
			all[name] = value
		}
	}
	return all
}

func TestEveryOptionIsReachedFromTheConfiguration(t *testing.T) {
	usual := options(t, given(t, ""))
	reached := map[string]bool{}
	var others []map[string]any
	others = append(others, options(t, given(t, everything)),
		options(t, given(t, "integrations: {frameworks: [batch/job, pod]}\n")),
		options(t, given(t, "resources: {excludeResourcePrefixes: [example.com/]}\n")),
		options(t, given(t, "featureGates: {CustomMetricLabels: true}\nmetrics: {customLabels: [{name: a, sourceLabelKey: b}, {name: c, sourceKind: Workload, sourceAnnotationKey: d, trackedValues: [x]}]}\n", features.CustomMetricLabels)))
	for _, name := range features.Names() {
		if gate, _ := features.Lookup(name); !gate.LockToDefault {
			others = append(others, options(t, given(t, "", append(relying(name), name)...)))
		}
	}
	for _, other := range others {
		for name, value := range other {
			if was, known := usual[name]; !known || !reflect.DeepEqual(was, value) {
				reached[name] = true
			}
		}
	}
	all := fields("usage.Options", usage.Options{})
	for name := range usual {
		all[name] = nil
	}
	for name := range all {
		if reached[name] == slices.Contains(unchosen(), name) {
			t.Errorf("%s: reached from the configuration: %v", name, reached[name])
		}
	}
}

// relying lists the gates that are on unless told otherwise and cannot be so without this one.
func relying(name features.Name) []features.Name {
	return slices.DeleteFunc(features.Names(), func(other features.Name) bool {
		gate, _ := features.Lookup(other)
		return !gate.Default || !slices.Contains(features.Required(other), name)
	})
}

func TestWhatTheSettingsAskOfTheEngine(t *testing.T) {
	everythingOn := given(t, everything)
	for _, c := range []struct {
		name string
		s    manager.Settings
		got  func(manager.Settings) any
		want any
	}{
		{"fair sharing is on by its presence", everythingOn, func(s manager.Settings) any { return cycleOptions(s).FairSharing }, true},
		{"and off without", given(t, ""), func(s manager.Settings) any { return cycleOptions(s).FairSharing }, false},
		{"admission blocks on pods when asked to", everythingOn, func(s manager.Settings) any { return cycleOptions(s).BlockUntilPodsReady }, true},
		{
			"but not when nobody waits for pods", given(t, everything, features.DisableWaitForPodsReady),
			func(s manager.Settings) any { return cycleOptions(s).BlockUntilPodsReady }, false,
		},
		{
			"undeclared resources are ignored when asked to", everythingOn,
			func(s manager.Settings) any { return cycleOptions(s).IgnoreUndeclared }, true,
		},
		{
			"but not with the gate closed", given(t, everything, features.QuotaCheckStrategy),
			func(s manager.Settings) any { return cycleOptions(s).IgnoreUndeclared }, false,
		},
		{
			"recent use orders LocalQueues when asked to", everythingOn,
			func(s manager.Settings) any { return viewOptions(s).Usage.HalfLife }, time.Hour,
		},
		{
			"but not with the gate closed", given(t, everything, features.AdmissionFairSharing),
			func(s manager.Settings) any { return viewOptions(s).Usage == nil }, true,
		},
		{
			"late pods are waited for without a word in the file", given(t, ""),
			func(s manager.Settings) any { return workload.PolicyFor(s.Configuration, s.Gates).PodsReady.Timeout }, 30 * time.Minute,
		},
		{
			"and their limits are the file's", everythingOn,
			func(s manager.Settings) any { return *workload.PolicyFor(s.Configuration, s.Gates).PodsReady },
			lifecycle.PodsReadyPolicy{
				Timeout: time.Minute, RecoveryTimeout: 2 * time.Minute, BackoffBase: 7 * time.Second, BackoffMax: 9 * time.Second,
				RequeueLimit: ptr.To[int32](3),
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.got(c.s); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAWaitThatIsDisabledIsNoWait(t *testing.T) {
	s := given(t, "")
	s.WaitForPodsReady = &configapi.WaitForPodsReady{Disabled: true, BlockAdmission: ptr.To(true), Timeout: &metav1.Duration{}}
	if cycleOptions(s).BlockUntilPodsReady {
		t.Error("admission waits for pods that nobody watches")
	}
}

func TestAnAdmissionSaysThatPodsAreWaitedForOnlyWhereTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		s    manager.Settings
		want bool
	}{
		"by default":                 {given(t, ""), true},
		"with the gate that ends it": {given(t, "", features.DisableWaitForPodsReady), false},
	} {
		wl, called := &kueue.Workload{}, false
		asked := func(*kueue.Workload, time.Time) { called = true }
		composition := &Composition{Settings: c.s, PrepareAdmission: []func(*kueue.Workload, time.Time){asked}}
		for _, complete := range composition.preparations() {
			complete(wl, time.Now())
		}
		said := len(wl.Status.Conditions) == 1 && wl.Status.Conditions[0].Reason == string(kueue.ReasonWaitForStart)
		if said != c.want || len(wl.Status.Conditions) > 1 || !called {
			t.Errorf("%s: %+v, the program's own was called: %v", name, wl.Status.Conditions, called)
		}
	}
}

func TestTheGatesOfJobsAreTheContractsWithoutAWord(t *testing.T) {
	if got := jobGates(given(t, "").Gates); got != job.DefaultGates() {
		t.Errorf("got %+v", got)
	}
}
