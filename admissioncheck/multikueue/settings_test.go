package multikueue

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"switchyard.dev/admissioncheck/multikueue/controller"
	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/apis/config/configtest"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker/job/all"
)

// given are the settings that follow from a configuration file, with gates turned to the other side.
func given(t *testing.T, file string, turned ...features.Name) controller.Settings {
	t.Helper()
	cfg, gates := configtest.Given(t, file, turned...)
	return newSettings(cfg, gates, all.Kinds())
}

// everything is a file that asks for something else than the defaults wherever it can.
const everything = `
namespace: elsewhere
resources:
  excludeResourcePrefixes: [example.com/]
  transformations: [{input: example.org/a, outputs: {example.org/b: 2}}]
multiKueue:
  gcInterval: 7s
  origin: mine
  workerLostTimeout: 3m
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 2}
  objectRetentionPolicies: {remoteObjects: {afterFinished: 9m}}
`

// unchosen are the fields that no configuration decides, and why.
func unchosen() []string {
	return []string{
		"Fleet",                                   // tests only
		"Declared",                                // JobKinds
		"Policy.OnWorkerLost", "Policy.OnHubLost", // annotations of ClusterQueue and MultiKueueConfig
		"Policy.LeaseDuration", "Policy.SkewMargin", // promises between hub and workers
		"Policy.RoundTimeout", "Policy.GateTimeout", // the contract's constants
		"Policy.HedgeAfter",                          // follows from how quick the clusters are
		"Policy.CutOffWindow", "Policy.ExplainAfter", // decided once for all
	}
}

// fields renders the exported fields of settings, those of Policy, Access and Demand each by its own name, and kinds as names.
func fields(prefix string, of any) map[string]any {
	found := map[string]any{}
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := prefix + f.Name
		switch {
		case !f.IsExported():
		case slices.Contains([]string{"Policy", "CredentialSources", "PodRequestRules"}, name):
			for inner, value := range fields(name+".", v.Field(i).Interface()) {
				found[inner] = value
			}
		case name == "Kinds":
			var names []string
			for j := range v.Field(i).Len() {
				names = append(names, v.Field(i).Index(j).MethodByName("Name").Call(nil)[0].String())
			}
			found[name] = names
		case name == "Fleet": // has functions, which cannot be compared
			found[name] = v.Field(i).IsZero()
		default:
			found[name] = v.Field(i).Interface()
		}
	}
	return found
}

func TestEverySettingIsReachedFromTheConfiguration(t *testing.T) {
	usual := fields("", given(t, ""))
	reached := map[string]bool{}
	compare := func(other controller.Settings) {
		for name, value := range fields("", other) {
			if !reflect.DeepEqual(value, usual[name]) {
				reached[name] = true
			}
		}
	}
	compare(given(t, everything))
	compare(given(t, everything, features.MultiKueueIncrementalDispatcherRespectConfigOrder))
	compare(given(t, "multiKueue: {externalFrameworks: [{name: Foo.v1.example.com}]}\n"))
	compare(given(t, "featureGates: {MultiKueueClusterProfile: true}\nmultiKueue: {clusterProfile: {accessProviders: [{name: p, "+
		"execConfig: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Never}}]}}\n", features.MultiKueueClusterProfile))
	for _, name := range []features.Name{
		features.WorkloadIdentifierAnnotations, features.MultiKueueKubeConfigPathValidation, features.MultiKueueManagerQuotaAutomation,
		features.MultiKueueOrchestratedPreemption, features.MultiKueueRemoteSpecSync,
		features.DisableWaitForPodsReady,
	} {
		compare(given(t, "", name))
	}
	for name := range usual {
		if reached[name] == slices.Contains(unchosen(), name) {
			t.Errorf("%s: reached from the configuration: %t", name, reached[name])
		}
	}
}

func TestWhatTheConfigurationAsksOfTheCheck(t *testing.T) {
	asked := given(t, everything)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"the origin", asked.Origin, "mine"},
		{"the origin without a word", given(t, "").Origin, "multikueue"},
		{"the namespace of Secrets and leases", asked.Namespace, "elsewhere"},
		{"the time between sweeps", asked.GCInterval, 7 * time.Second},
		{"the time between sweeps without a word", given(t, "").GCInterval, time.Minute},
		{"no sweeps", given(t, "multiKueue: {gcInterval: 0s}\n").GCInterval, time.Duration(0)},
		{"the grace of a lost worker", asked.Policy.WorkerLostTimeout, 3 * time.Minute},
		{"the grace of a lost worker without a word", given(t, "").Policy.WorkerLostTimeout, 15 * time.Minute},
		{"how long finished jobs stay on the workers", asked.Policy.RetainFinished, 9 * time.Minute},
		{"how long they stay without a word", given(t, "").Policy.RetainFinished, time.Duration(0)},
		{"the dispatcher", asked.Policy.Dispatcher, dispatch.Incremental},
		{"the size of a round", asked.Policy.StepSize, 2},
		{"names of Workloads are in annotations", asked.NameInLabel, false},
		{"or in labels, with the gate off", given(t, "", features.WorkloadIdentifierAnnotations).NameInLabel, true},
		{"copies preempt freely", asked.Policy.OrchestratePreemption, false},
		{"or one at a time, with the gate on", given(t, "", features.MultiKueueOrchestratedPreemption).Policy.OrchestratePreemption, true},
		{"quotas are people's", asked.QuotaAutomation, false},
		{"or the workers', with the gate on", given(t, "", features.MultiKueueManagerQuotaAutomation).QuotaAutomation, true},
		{"pods are waited for", asked.WaitForPodsReady, true},
		{"or not, with the gate on", given(t, "", features.DisableWaitForPodsReady).WaitForPodsReady, false},
		{"what does not count", asked.PodRequestRules.ExcludePrefixes, []string{"example.com/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !reflect.DeepEqual(c.got, c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}
