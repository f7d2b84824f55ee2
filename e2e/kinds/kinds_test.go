package kinds

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// kind is what a test knows of a sample in config/samples/kinds.
type kind struct {
	// file is the sample's, without its extension.
	file string
	// at is the worker that runs it.
	at func(*stage) *installation.Site
	// pods is how many there are while it runs.
	pods int
	// ends selects the pods that end by themselves and the job with them; empty for all.
	ends string
	// running and ended are what its status says, see eventuallyHas; a job without an end is deleted.
	running, ended string
	// late is the operator whose CRDs come to the hub after its program has started; empty if they were there.
	late clusters.Operator
	// local kinds run only where they are submitted.
	local bool
}

func atTraining(s *stage) *installation.Site { return s.training }

func atRay(s *stage) *installation.Site { return s.ray }

// kinds are all kinds with an operator, but pods and what is made of them.
func kinds() []kind {
	training := func(file string, pods int) kind {
		return kind{file: file, at: atTraining, pods: pods, running: "Running=True", ended: "Succeeded=True"}
	}
	mpi := training("mpijob", 3)
	mpi.ends = "training.kubeflow.org/job-role=launcher"
	return []kind{
		training("pytorchjob", 3), training("tfjob", 4), training("xgboostjob", 3), training("paddlejob", 2), training("jaxjob", 2), mpi,
		{file: "trainjob", at: atTraining, pods: 2, running: "Suspended=False", ended: "Complete=True"},
		{file: "raycluster", at: atRay, pods: 3, running: "state=ready"},
		// The third pod submits the program.
		{file: "rayjob", at: atRay, pods: 3, running: "jobStatus=RUNNING", ends: "batch.kubernetes.io/job-name", ended: "jobDeploymentStatus=Complete"},
		{file: "rayservice", at: atRay, pods: 2, running: "Ready=True"},
		{file: "appwrapper", at: atRay, pods: 2, running: "phase=Running", ended: "phase=Succeeded", late: clusters.AppWrapper},
		{file: "sparkapplication", at: atRay, pods: 3, running: "applicationState.state=RUNNING", ended: "applicationState.state=COMPLETED", local: true},
	}
}

func TestKinds(t *testing.T) {
	s := start(t)
	for _, k := range kinds() {
		t.Run(k.file+" submitted to the worker runs, stops, runs again and ends", func(t *testing.T) {
			t.Parallel()
			k.run(t, s, k.at(s))
		})
		if !k.local {
			t.Run(k.file+" submitted to the hub runs on the worker with its operator", func(t *testing.T) {
				t.Parallel()
				if k.late != "" {
					install(t, s.hub, k.late)
				}
				k.run(t, s, s.hub)
			})
		}
	}
	t.Run("CRDs come while the program runs, go with what they hold, and come again", func(t *testing.T) {
		t.Parallel()
		s.comeAndGo(t)
	})
}

// comeAndGo has no operator: what is looked at is that Workloads follow the jobs, and that a job that has gone with its kind gives its quota
// back.
func (s *stage) comeAndGo(t *testing.T) {
	t.Helper()
	for _, name := range []string{"first", "second"} {
		install(t, s.training, clusters.SparkOperator)
		job := sample(t, "sparkapplication", name)
		create(t, s.training, job)
		eventuallyWorkload(t, s.training, job, kueue.WorkloadAdmitted)
		if err := s.training.RemoveOperatorCRDs(t.Context(), clusters.SparkOperator); err != nil {
			t.Fatal(err)
		}
		expectOrphaned(t, s.training, job)
	}
}

// expectOrphaned waits until the job's Workload has ended for want of its owner, or has been removed by the garbage collector, if that saw the
// owner go.
func expectOrphaned(t *testing.T, at *installation.Site, job *unstructured.Unstructured) {
	t.Helper()
	eventually(t, "the end of the Workload of "+job.GetName(), func(ctx context.Context) error {
		wl, err := workloadOf(ctx, at, job)
		switch {
		case errors.Is(err, errNoWorkload):
			return nil
		case err != nil:
			return err
		}
		c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
		if c == nil || c.Reason != string(kueue.ReasonOwnerNotFound) {
			return fmt.Errorf("its conditions are %s", conditionsOf(wl))
		}
		return nil
	})
}

func install(t *testing.T, at *installation.Site, operator clusters.Operator) {
	t.Helper()
	if err := at.InstallOperatorCRDs(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
}

// run submits a job at a site and follows it: it runs, is stopped by its Workload, runs again, and ends or is deleted.
func (k kind) run(t *testing.T, s *stage, submitted *installation.Site) {
	t.Helper()
	at := k.at(s)
	job := sample(t, k.file, k.file+"-"+submitted.Name)
	t.Cleanup(func() { explain(t, s, job) })
	create(t, submitted, job)
	wl := eventuallyWorkload(t, submitted, job, kueue.WorkloadAdmitted)
	if submitted == s.hub && (wl.Status.ClusterName == nil || *wl.Status.ClusterName != at.Name) {
		t.Errorf("it was admitted on %v, want %s", wl.Status.ClusterName, at.Name)
	}
	k.expectRunning(t, s, submitted, job.GetName())

	setActive(t, submitted, job, false)
	eventuallyPods(t, at, job.GetName(), 0)
	eventuallyWorkload(t, submitted, job, kueue.WorkloadEvicted)
	setActive(t, submitted, job, true)
	k.expectRunning(t, s, submitted, job.GetName())

	if k.ended == "" {
		remove(t, submitted, job)
	} else {
		endPods(t, at, job.GetName(), k.ends)
		eventuallyHas(t, submitted, job, k.ended)
		eventuallyWorkload(t, submitted, job, kueue.WorkloadFinished)
	}
	if submitted == s.hub {
		eventuallyGone(t, at, job)
		eventuallyPods(t, at, job.GetName(), 0)
		expectNoPodsOfTheHub(t, s)
	}
}

// expectRunning waits until the pods run at the worker and the job says so where it was submitted.
func (k kind) expectRunning(t *testing.T, s *stage, submitted *installation.Site, name string) {
	t.Helper()
	eventuallyPods(t, k.at(s), name, k.pods)
	eventuallyHas(t, submitted, sample(t, k.file, name), k.running)
}

func expectNoPodsOfTheHub(t *testing.T, s *stage) {
	t.Helper()
	eventually(t, "the hub has no pods", func(ctx context.Context) error {
		pods, err := listPods(ctx, s.hub, "")
		if len(pods) > 0 {
			return fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
}
