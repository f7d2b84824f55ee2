package multikueue

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

func TestTheDispatcherThatTheConfigurationNames(t *testing.T) {
	order := "MultiKueueIncrementalDispatcherRespectConfigOrder"
	for _, c := range []struct {
		name  string
		of    string
		step  *int32
		gates map[string]bool
		want  dispatch.Policy
	}{
		{name: "all at once", of: kueue.AllAtOnceDispatcherName, want: dispatch.Policy{Dispatcher: dispatch.AllAtOnce, StepSize: 3}},
		{name: "in rounds", of: kueue.IncrementalDispatcherName, want: dispatch.Policy{Dispatcher: dispatch.Incremental, StepSize: 3}},
		{name: "in rounds of one", of: kueue.IncrementalDispatcherName, step: ptr.To[int32](1), want: dispatch.Policy{Dispatcher: dispatch.Incremental, StepSize: 1}},
		{
			name: "by name", of: kueue.IncrementalDispatcherName, gates: map[string]bool{order: false},
			want: dispatch.Policy{Dispatcher: dispatch.Incremental, StepSize: 3, ByName: true},
		},
		{
			name: "the size of a round is not to be configured", of: kueue.IncrementalDispatcherName, step: ptr.To[int32](1),
			gates: map[string]bool{"MultiKueueIncrementalDispatcherConfig": false}, want: dispatch.Policy{Dispatcher: dispatch.Incremental, StepSize: 3},
		},
		{name: "best fit", of: switchyard.BestFitDispatcherName, want: dispatch.Policy{Dispatcher: dispatch.BestFit, StepSize: 3}},
		{name: "one that is not built in", of: "example.com/mine", want: dispatch.Policy{Dispatcher: dispatch.External, StepSize: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configapi.Default()
			cfg.MultiKueue.DispatcherName = ptr.To(c.of)
			cfg.SetDefaults()
			if c.step != nil {
				cfg.MultiKueue.IncrementalDispatcherConfig.StepSize = c.step
			}
			gates, err := features.New(c.gates)
			if err != nil {
				t.Fatal(err)
			}
			got := policy(cfg.MultiKueue, gates)
			if got.Dispatcher != c.want.Dispatcher || got.StepSize != c.want.StepSize || got.ByName != c.want.ByName ||
				got.WorkerLostTimeout != 15*time.Minute || got.RoundTimeout != 5*time.Minute || got.LeaseDuration != 40*time.Second ||
				got.SkewMargin <= 0 || got.OrchestratePreemption {
				t.Errorf("policy %+v", got)
			}
		})
	}
}

func TestWithTheFeatureGateOffNothingIsAdded(t *testing.T) {
	cfg := configapi.Default()
	cfg.FeatureGates = map[string]bool{"MultiKueue": false, "MultiKueueAdaptersForCustomJobs": false}
	if err := new(Check).Setup(nil, cfg); err != nil {
		t.Error(err)
	}
}
