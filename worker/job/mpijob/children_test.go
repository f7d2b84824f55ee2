package mpijob_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/mpijob"
)

// launcherOf is the Job that the MPI operator makes for the launcher of a job that may run.
func launcherOf(j *mpi.MPIJob) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name + "-launcher", Namespace: j.Namespace, UID: "launcher", Labels: map[string]string{"app": j.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, mpijob.Kind().GVK)},
		},
		Spec: batchv1.JobSpec{Suspend: ptr.To(false), Template: *j.Spec.MPIReplicaSpecs["Launcher"].Template.DeepCopy()},
	}
}

func TestTheLauncherIsPaidForByItsMPIJob(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*mpi.MPIJob, *batchv1.Job)
		want   bool
	}{
		"as the operator makes it": {func(*mpi.MPIJob, *batchv1.Job) {}, true},
		"with another name":        {func(_ *mpi.MPIJob, j *batchv1.Job) { j.Name = "train-worker" }, false},
		"of two pods":              {func(_ *mpi.MPIJob, j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](2) }, false},
		"of two pods for one to do": {func(_ *mpi.MPIJob, j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](2), ptr.To[int32](1)
		}, true},
		"that needs more": {func(_ *mpi.MPIJob, j *batchv1.Job) {
			j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1m")}
		}, false},
		"of a job that wants none":    {func(o *mpi.MPIJob, _ *batchv1.Job) { o.Spec.MPIReplicaSpecs["Launcher"].Replicas = ptr.To[int32](0) }, false},
		"of a job without a launcher": {func(o *mpi.MPIJob, _ *batchv1.Job) { o.Spec.MPIReplicaSpecs["Launcher"] = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			owner := sample()
			child := launcherOf(owner)
			row.change(owner, child)
			if got := mpijob.Kind().Children.Covers(owner, child); got != row.want {
				t.Errorf("it is covered: %v", got)
			}
		})
	}
	if mpijob.Kind().Children.Covers(sample(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train-launcher"}}) {
		t.Error("a pod is covered")
	}
}

func TestHowWhatTheMPIOperatorMakesIsFound(t *testing.T) {
	j := sample()
	want := map[string]string{"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "train"}
	if diff := cmp.Diff(want, mpijob.Kind().PodLabels(j)); diff != "" {
		t.Errorf("labels of pods differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(launcherOf(j).Labels, mpijob.Kind().Children.Labels(j)); diff != "" {
		t.Errorf("labels of the launcher differ (-want +got):\n%s", diff)
	}
	if !mpijob.Kind().Children.HoldsPods(launcherOf(j)) {
		t.Error("a launcher that may run holds no pods")
	}
}

// The operator starts the launcher with its job, and may be late in stopping it.
func TestTheLauncherRunsOnlyWhileItsMPIJobIsAdmitted(t *testing.T) {
	for name, row := range map[string]struct {
		queue     string
		suspended bool
	}{
		"the job waits for its Workload": {"main", true},
		"the job names no queue":         {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			owner := sample()
			owner.Labels = map[string]string{kueue.QueueNameLabel: row.queue}
			child := launcherOf(owner)
			c := reconcileJob(t, child, owner)
			got := &batchv1.Job{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(child), got); err != nil {
				t.Fatal(err)
			}
			if *got.Spec.Suspend != row.suspended {
				t.Errorf("the launcher is suspended: %v", *got.Spec.Suspend)
			}
			var made kueue.WorkloadList
			if err := c.List(t.Context(), &made); err != nil || len(made.Items) > 0 {
				t.Errorf("%d Workloads were made, %v", len(made.Items), err)
			}
		})
	}
}

// reconcileJob looks at a batch Job once.
func reconcileJob(t *testing.T, child *batchv1.Job, owner *mpi.MPIJob) client.Client {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme, mpijob.Kind().AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	o := job.Options{
		Kinds: []job.Integration{job.NewIntegration(batchjob.Kind()), job.NewIntegration(mpijob.Kind())},
		Gates: job.DefaultGates(), Clock: testclock.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
	}
	b := fake.NewClientBuilder().WithScheme(known).WithObjects(child, owner)
	for _, index := range job.Indexes(batchjob.Kind(), o.Gates, known) {
		b = b.WithIndex(index.Of, index.Field, index.Keys)
	}
	c := b.Build()
	r := job.NewReconciler(batchjob.Kind(), o, c, c, events.NewFakeRecorder(10))
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(child)}); err != nil {
		t.Fatal(err)
	}
	return c
}
