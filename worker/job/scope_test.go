package job_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

type options = job.Options

func TestAJobWithoutQueueIsManagedOnlyWhenAllAre(t *testing.T) {
	for manageAll, want := range map[bool]int{false: 0, true: 1} {
		j := newJob()
		delete(j.Labels, kueue.QueueNameLabel)
		c := newClusterWith(t, func(o *options) { o.ManageJobsWithoutQueueName = manageAll }, j)
		c.settle()
		if n := len(c.workloads()); n != want {
			t.Errorf("manage all %v: %d workloads, want %d", manageAll, n, want)
		}
	}
}

func TestTheNamespaceSelectorHoldsForJobsWithAQueueToo(t *testing.T) {
	for selector, want := range map[string]int{"managed=yes": 1, "managed=no": 0} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		c := newClusterWith(t, func(o *options) { o.Namespaces = parsed }, newJob())
		c.settle()
		if n := len(c.workloads()); n != want {
			t.Errorf("selector %s: %d workloads, want %d", selector, n, want)
		}
	}
}

// childOf returns a running Job of the owner.
func childOf(gvk schema.GroupVersionKind, name, uid string) *batchv1.Job {
	j := newJob()
	delete(j.Labels, kueue.QueueNameLabel)
	j.Spec.Suspend = ptr.To(false)
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, gvk)}
	return j
}

func managedJobSet() *jobsetv1.JobSet {
	return &jobsetv1.JobSet{ObjectMeta: metav1.ObjectMeta{
		Name: "set", Namespace: namespace, UID: "set-uid", Labels: map[string]string{kueue.QueueNameLabel: "main"},
	}}
}

func TestAChildOfAManagedJobSetHasNoWorkloadAndIsSuspendedUntilAdmission(t *testing.T) {
	gvk := jobset.Kind().GVK
	c := newCluster(t, childOf(gvk, "set", "set-uid"), managedJobSet())
	c.wrote("patch Job")
	c.told(kueue.EventSuspended)
	if n := len(c.workloads()); n != 0 {
		t.Errorf("%d workloads", n)
	}
}

func TestAChildOfAnAdmittedJobSetRuns(t *testing.T) {
	gvk := jobset.Kind().GVK
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: job.WorkloadName(gvk, "set", "set-uid", false)}}
	wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}}
	c := newCluster(t, childOf(gvk, "set", "set-uid"), managedJobSet(), wl)
	c.wrote()
}

func TestAnOwnerThatWasReplacedSaysNothing(t *testing.T) {
	gvk := jobset.Kind().GVK
	child := childOf(gvk, "set", "an-older-uid")
	child.Labels = map[string]string{kueue.QueueNameLabel: "main"}
	child.Spec.Suspend = ptr.To(true)
	c := newCluster(t, child, managedJobSet())
	c.wrote("create Workload")
}

func TestAChainOfOwnersWithoutEndIsReported(t *testing.T) {
	j := newJob()
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchjob.Kind().GVK)}
	c := newCluster(t, j)
	c.wrote()
	c.told(kueue.EventJobNestingTooDeep)
}

func TestAChangedWorkloadLeadsToItsJob(t *testing.T) {
	waiting := newJob()
	waiting.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	c := newCluster(t, waiting)
	owned := prebuilt()
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(waiting, batchjob.Kind().GVK)}
	foreign := prebuilt()
	foreign.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(managedJobSet(), jobset.Kind().GVK)}
	for name, row := range map[string]struct {
		wl   *kueue.Workload
		want int
	}{
		"by its owner": {owned, 1}, "by the name it was promised under": {prebuilt(), 1}, "not to another kind's": {foreign, 0},
	} {
		if got := job.JobsOf(batchjob.Kind(), c, row.wl); len(got) != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
