package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestTheIdealLetsTheImportantInFirstAndNoneOvertake(t *testing.T) {
	l := load{cohorts: 2, queues: 1}
	small, large := class{cpu: 1, priority: 50}, class{cpu: 20, priority: 200}
	workloads := map[string]*kueue.Workload{
		"small": workloadOf("small", "c0-q0", small), "late": workloadOf("late", "c0-q0", small),
		"large": workloadOf("large", "c0-q0", large), "other": workloadOf("other", "c1-q0", large),
	}
	i := newIdeal(l)
	for _, step := range []struct {
		do   func(*kueue.Workload) []*kueue.Workload
		who  string
		want []string
	}{
		{i.arrive, "small", []string{"small"}},
		{i.arrive, "large", nil},
		{i.arrive, "late", nil},
		{i.arrive, "other", []string{"other"}},
		{i.leave, "small", []string{"large"}},
		{i.leave, "small", nil},
		{i.leave, "large", []string{"late"}},
	} {
		var in []string
		for _, wl := range step.do(workloads[step.who]) {
			in = append(in, wl.Name)
		}
		if diff := cmp.Diff(step.want, in); diff != "" {
			t.Errorf("after %s:\n%s", step.who, diff)
		}
	}
}
