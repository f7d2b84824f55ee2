package job_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/workload"
)

func TestQuotaIsNotReleasedBeforeTheOtherClusterHasStoppedTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		dispatches bool
		check      string
		reason     admission.Reason
		waits      bool
	}{
		"pods may be starting there":             {true, "mk", "Preempted", true},
		"the check has given the cluster up":     {true, "mk", "AdmissionCheck", false},
		"another program dispatches":             {false, "mk", "Preempted", false},
		"the check is another controller's":      {true, "provisioning", "Preempted", false},
		"the check does not exist any more":      {true, "gone", "Preempted", false},
		"the hub deactivates it, which is alike": {true, "mk", "Deactivated", true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob()
			j.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
			at := newClusterWith(t, func(o *job.Options) { o.Dispatches = c.dispatches }, j, newFlavor("h100"), newCheck("mk", kueue.MultiKueueControllerName),
				newCheck("provisioning", kueue.ProvisioningRequestControllerName))
			at.reconcileAll()
			at.admit("h100")
			at.apply(func(wl *kueue.Workload) {
				wl.Status.ClusterName = ptr.To("w1")
				wl.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: kueue.AdmissionCheckReference(c.check), State: kueue.CheckStateReady, LastTransitionTime: metav1.NewTime(at.clock.Now())}}
			})
			at.reconcileAll()
			at.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: c.reason}, at.clock.Now()) })
			at.reconcileAll()
			if waits := at.workload().Status.Admission != nil; waits != c.waits {
				t.Errorf("quota is held: %t", waits)
			}
			at.apply(func(wl *kueue.Workload) { wl.Status.ClusterName = nil })
			at.reconcileAll()
			if at.workload().Status.Admission != nil {
				t.Error("quota is held although no cluster has the job")
			}
		})
	}
}

func newCheck(name, controller string) *kueue.AdmissionCheck {
	return &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.AdmissionCheckSpec{ControllerName: controller}}
}

func TestPodsThatAreBeingTerminatedHoldTheirQuota(t *testing.T) {
	for fast, want := range map[bool]bool{false: true, true: false} {
		c := newClusterWith(t, func(o *job.Options) { o.Gates.FastQuotaRelease = fast }, newJob(), newFlavor("h100"))
		c.reconcileAll()
		c.admit("h100")
		c.reconcileAll()
		c.changeJobStatus(running)
		c.reconcileAll()
		c.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now()) })
		c.reconcileAll()
		c.changeJobStatus(func(s *batchv1.JobStatus) {
			stoppedPods(s)
			s.Terminating = ptr.To[int32](2)
		})
		c.reconcileAll()
		if held := c.workload().Status.Admission != nil; held != want {
			t.Errorf("fast release %v: quota is held while pods terminate: %v", fast, held)
		}
		c.changeJobStatus(func(s *batchv1.JobStatus) { s.Terminating = ptr.To[int32](0) })
		c.reconcileAll()
		if c.workload().Status.Admission != nil {
			t.Errorf("fast release %v: quota is held without pods", fast)
		}
	}
}

// A JobSet's status says nothing of the pods that its Jobs have lost and that still terminate.
func TestAJobSetHoldsItsQuotaWhileItsJobsHavePods(t *testing.T) {
	gvk := jobset.Kind().GVK
	for name, row := range map[string]struct {
		change func(*batchv1.Job)
		held   bool
	}{
		"a pod terminates":                {func(j *batchv1.Job) { j.Status.Terminating = ptr.To[int32](1) }, true},
		"a pod runs":                      {func(j *batchv1.Job) { j.Status.Active = 1 }, true},
		"a Job has not been told to stop": {func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }, true},
		"all pods are gone":               {func(*batchv1.Job) {}, false},
		"a Job of another owner has pods": {func(j *batchv1.Job) { j.Status.Active, j.OwnerReferences[0].UID = 1, "another" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			js := managedJobSet()
			child := childOf(gvk, js.Name, string(js.UID))
			child.Labels = map[string]string{jobsetv1.JobSetNameKey: js.Name}
			child.Spec.Suspend = ptr.To(true)
			row.change(child)
			js.Spec.Suspend = ptr.To(true)
			c := newCluster(t, js, child, newFlavor("h100"))
			c.reconciler, c.target = c.jobSets, js.Name
			c.reconcileAll()
			c.admit("h100")
			c.reconcileAll()
			c.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now()) })
			c.reconcileAll()
			if held := c.workload().Status.Admission != nil; held != row.held {
				t.Fatalf("quota is held: %v", held)
			}
			if again := c.reconcileOnce().RequeueAfter; (again > 0) != row.held {
				t.Errorf("looks again after %s", again)
			}
		})
	}
}

// Some statuses count no pods that are pending or being terminated. Of such a kind the pods themselves are asked.
func TestAJobHoldsItsQuotaWhileItsControllersPodsAreThere(t *testing.T) {
	const label = "example.com/made-for"
	for name, row := range map[string]struct {
		change func(*corev1.Pod)
		named  string
		held   bool
	}{
		"a pod runs, or is being terminated": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, "set", true},
		"a pod waits for its node":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, "set", true},
		"all pods have ended":                {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "set", false},
		"the pod is another owner's":         {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" }, "set", false},
		"another pod of the job made it": {func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "v1", "Pod", "driver"
		}, "set", true},
		"a Job of the job made it": {func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "batch/v1", "Job", "replica"
		}, "set", true},
		"the pod names no controller":  {func(p *corev1.Pod) { p.OwnerReferences = nil }, "set", true},
		"no pod can have such a label": {func(*corev1.Pod) {}, strings.Repeat("x", 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			kind := jobset.Kind()
			kind.Children, kind.PodLabels = nil, func(*jobsetv1.JobSet) map[string]string { return map[string]string{label: row.named} }
			js := managedJobSet()
			js.Spec.Suspend = ptr.To(true)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "p", Namespace: namespace, Labels: map[string]string{label: "set"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(js, kind.GVK)},
			}}
			row.change(pod)
			c := newCluster(t, js, pod, newFlavor("h100"))
			c.reconciler, c.target = job.NewReconciler(kind, c.options, c.countWrites(c.Client.(client.WithWatch)), c, c.recorder), js.Name
			c.reconcileAll()
			c.admit("h100")
			c.reconcileAll()
			c.apply(func(wl *kueue.Workload) { workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted"}, c.clock.Now()) })
			c.reconcileAll()
			if held := c.workload().Status.Admission != nil; held != row.held {
				t.Errorf("quota is held: %v", held)
			}
		})
	}
}

// What was admitted is what may run: a Job that is made larger while it runs asks for quota anew.
func TestAJobThatGrowsWhileItRunsIsStoppedAndCountedAgain(t *testing.T) {
	for name, row := range map[string]struct {
		admitted, parallelism int32
		stops                 bool
	}{
		"as it was":                     {2, 2, false},
		"as few as were admitted":       {1, 1, false},
		"more than were admitted":       {2, 200, true},
		"fewer than have quota":         {2, 1, true},
		"more than the few with quota ": {1, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob()
			j.Spec.Completions = nil
			if row.admitted < 2 {
				j.Annotations[kueue.JobMinParallelismAnnotation] = "1"
			}
			c := newCluster(t, j, newFlavor("h100"))
			c.reconcileAll()
			c.admit("h100")
			c.apply(func(wl *kueue.Workload) { wl.Status.Admission.PodSetAssignments[0].Count = &row.admitted })
			c.reconcileAll()
			c.changeJobStatus(running)
			c.reconcileAll()
			c.changeJob(func(j *batchv1.Job) { j.Spec.Parallelism = &row.parallelism })
			c.reconcileAll()
			if stopped := *c.job().Spec.Suspend; stopped != row.stops {
				t.Errorf("it is stopped: %v", stopped)
			}
		})
	}
}
