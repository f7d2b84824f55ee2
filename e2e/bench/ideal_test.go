package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestTheIdealLetsTheImportantInFirstAndNoneOvertake(t *testing.T) {
	l := load{cohorts: 2, queues: 1}
	small, large := workloadClass{cpu: 1, priority: 50}, workloadClass{cpu: 20, priority: 200}
	workloads := map[string]*kueue.Workload{
		"small": newWorkload("small", "c0-q0", small), "late": newWorkload("late", "c0-q0", small),
		"large": newWorkload("large", "c0-q0", large), "other": newWorkload("other", "c1-q0", large),
	}
	i := newIdealScheduler(l)
	for _, step := range []struct {
		do   func(*kueue.Workload) []*kueue.Workload
		who  string
		want []string
	}{
		{i.addWorkload, "small", []string{"small"}},
		{i.addWorkload, "large", nil},
		{i.addWorkload, "late", nil},
		{i.addWorkload, "other", []string{"other"}},
		{i.removeWorkload, "small", []string{"large"}},
		{i.removeWorkload, "small", nil},
		{i.removeWorkload, "large", []string{"late"}},
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
