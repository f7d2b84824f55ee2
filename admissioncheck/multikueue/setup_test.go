package multikueue

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestADispatcherThatIsNotBuiltInNominatesFromOutside(t *testing.T) {
	for name, want := range map[string]dispatch.Dispatcher{
		kueue.AllAtOnceDispatcherName: dispatch.AllAtOnce,
		"example.com/mine":            dispatch.External,
	} {
		cfg := configapi.Default()
		cfg.MultiKueue.DispatcherName = ptr.To(name)
		got := policy(cfg.MultiKueue)
		if got.Dispatcher != want || got.WorkerLostTimeout != 15*time.Minute {
			t.Errorf("%s: policy %+v", name, got)
		}
	}
}

func TestTheIncrementalDispatcherIsRefusedRatherThanIgnored(t *testing.T) {
	cfg := configapi.Default()
	cfg.MultiKueue.DispatcherName = ptr.To(kueue.IncrementalDispatcherName)
	if err := new(Check).Setup(nil, cfg); err == nil || !strings.Contains(err.Error(), "not built in yet") {
		t.Errorf("error %v", err)
	}
}

func TestWithTheFeatureGateOffNothingIsAdded(t *testing.T) {
	cfg := configapi.Default()
	cfg.FeatureGates = map[string]bool{"MultiKueue": false, "MultiKueueAdaptersForCustomJobs": false}
	if err := new(Check).Setup(nil, cfg); err != nil {
		t.Error(err)
	}
}
