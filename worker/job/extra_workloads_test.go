package job_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// another makes a further Workload of the job out of the first one.
func (c *cluster) another(name string, change func(*kueue.Workload)) {
	c.Helper()
	wl := c.workloads()[0].DeepCopy()
	wl.ObjectMeta = metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID(name), OwnerReferences: wl.OwnerReferences,
		CreationTimestamp: metav1.NewTime(c.clock.Now()), Finalizers: []string{kueue.ResourceInUseFinalizer},
	}
	wl.Status = kueue.WorkloadStatus{}
	change(wl)
	c.requireNoError(c.Create(context.Background(), wl))
}

func (c *cluster) left() []string {
	var names []string
	for _, wl := range c.workloads() {
		names = append(names, wl.Name)
	}
	return names
}

func TestOfSeveralWorkloadsTheOneThatMatchesStays(t *testing.T) {
	const own = "job-train-1b29a"
	bigger := func(wl *kueue.Workload) { wl.Spec.PodSets[0].Count = 7 }
	limited := func(wl *kueue.Workload) { wl.Spec.MaximumExecutionTimeSeconds = ptr.To[int32](60) }
	same := func(*kueue.Workload) {}
	holding := func(wl *kueue.Workload) {
		workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{
			assigned("main", "h100", wl.Spec.PodSets[0].Count),
		}}, []string{"check"}, "Quota reserved", time.Unix(0, 0))
	}
	for name, row := range map[string]struct {
		older, younger func(*kueue.Workload)
		want           string
	}{
		"not the one that asks for more, though it is older":    {older: bigger, want: own},
		"not the one that may run for a shorter time":           {older: limited, want: own},
		"not the one that asks for more, though it holds quota": {older: func(wl *kueue.Workload) { bigger(wl); holding(wl) }, want: own},
		"of two that match the one that holds quota":            {younger: holding, want: "a-younger"},
		"of two that match and wait the older":                  {older: same, want: "a-older"},
		"of two that match and wait the older, however named":   {younger: same, want: own},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, newJob(), newFlavor("h100"))
			c.reconcileAll()
			wl := c.workload()
			wl.CreationTimestamp = metav1.NewTime(c.clock.Now())
			c.requireNoError(c.Update(context.Background(), wl))
			if row.older != nil {
				c.clock.Step(-time.Hour)
				c.another("a-older", row.older)
			}
			if row.younger != nil {
				c.clock.Step(time.Hour)
				c.another("a-younger", row.younger)
			}
			c.reconcileAll()
			if left := c.left(); !slices.Equal(left, []string{row.want}) {
				t.Errorf("%q is left, want %s", left, row.want)
			}
		})
	}
}

// A Workload that was made beside the one with which the job runs must not take its quota while there are pods.
func TestQuotaOfASecondWorkloadIsHeldUntilThePodsAreGone(t *testing.T) {
	c := newCluster(t, newJob(), newFlavor("h100"))
	c.reconcileAll()
	c.admit("h100")
	c.reconcileAll()
	c.changeJobStatus(running)
	c.reconcileAll()
	c.another("a-second", func(*kueue.Workload) {})
	first := c.workloads()[1]
	c.requireNoError(c.Delete(context.Background(), &first))
	c.reconcileAll()
	if left := c.left(); len(left) != 2 || !*c.job().Spec.Suspend {
		t.Fatalf("%q are left while pods run, suspended %v", left, *c.job().Spec.Suspend)
	}
	c.changeJobStatus(stoppedPods)
	c.reconcileAll()
	if left := c.left(); !slices.Equal(left, []string{"a-second"}) {
		t.Errorf("%q are left", left)
	}
}

func TestNoneOfSeveralWorkloadsIsForgottenWhileAnotherClusterMayRunTheJob(t *testing.T) {
	managed := newJob()
	managed.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
	c := newClusterWith(t, func(o *job.Options) { o.Dispatches = true }, managed)
	c.reconcileAll()
	own := c.workload().Name
	away := func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w1"); wl.Spec.PodSets[0].Count = 7 }
	c.another("a-second", away)
	c.requireNoError(c.Delete(context.Background(), &c.workloads()[0]))
	c.reconcileAll()
	if left := c.left(); !slices.Equal(left, []string{"a-second"}) {
		t.Errorf("%q are left, the record was in a-second", left)
	}
	c.another(own, func(wl *kueue.Workload) { wl.Status.ClusterName = ptr.To("w2"); wl.Spec.PodSets[0].Count = 2 })
	c.reconcileAll()
	if left := c.left(); len(left) != 2 {
		t.Errorf("%q are left, and both say where the job may run", left)
	}
}
