package raycluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

var (
	noon  = metav1.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	later = metav1.NewTime(noon.Add(time.Minute))
)

// saying is a status with the two conditions about the suspension, in the order of KubeRay.
func saying(state rayv1.ClusterState, suspended, suspending metav1.ConditionStatus) rayv1.RayClusterStatus {
	return rayv1.RayClusterStatus{State: state, Conditions: []metav1.Condition{
		{Type: string(rayv1.RayClusterSuspended), Status: suspended, LastTransitionTime: noon},
		{Type: string(rayv1.RayClusterSuspending), Status: suspending, LastTransitionTime: later},
	}}
}

const (
	yes, no   = metav1.ConditionTrue, metav1.ConditionFalse
	stopped   = true
	goesAhead = false
)

func TestARayClusterHasPodsUntilKubeRayHasSeenTheLastGo(t *testing.T) {
	for name, row := range map[string]struct {
		suspend bool
		status  rayv1.RayClusterStatus
		want    job.Progress
		waits   fence.Reaction
	}{
		"nobody has seen it": {goesAhead, rayv1.RayClusterStatus{}, job.Progress{}, ""},
		"seen and about to start, with the state of before": {goesAhead, saying(rayv1.Suspended, no, no), job.Progress{Active: true}, ""},
		"its first pods start":                              {goesAhead, saying("", no, no), job.Progress{Active: true}, ""},
		"its pods are ready":                                {goesAhead, saying(rayv1.Ready, no, no), job.Progress{Active: true, Ready: true}, ""},
		"resumed, which KubeRay has not seen":               {goesAhead, saying(rayv1.Suspended, yes, no), job.Progress{}, fence.ControllerObserves},
		"suspended, which KubeRay has not seen":             {stopped, saying(rayv1.Ready, no, no), job.Progress{Active: true}, fence.PodsTold},
		"suspended while its first pods start":              {stopped, saying("", no, no), job.Progress{Active: true}, fence.PodsTold},
		"suspended while it starts once more":               {stopped, saying(rayv1.Suspended, no, no), job.Progress{Active: true}, fence.PodsTold},
		"its pods are told to end":                          {stopped, saying(rayv1.Ready, no, yes), job.Progress{Terminating: true}, fence.PodsEnd},
		"resumed while its pods are told to end":            {goesAhead, saying(rayv1.Ready, no, yes), job.Progress{Terminating: true, Ready: true}, ""},
		"its pods are gone":                                 {stopped, saying(rayv1.Suspended, yes, no), job.Progress{}, ""},
		"ready, says an operator without conditions":        {stopped, rayv1.RayClusterStatus{State: rayv1.Ready}, job.Progress{Active: true}, fence.PodsTold},
		"some workers run, says such an operator":           {goesAhead, rayv1.RayClusterStatus{AvailableWorkerReplicas: 1}, job.Progress{Active: true}, ""},
		"its head exists, says such an operator": {stopped, rayv1.RayClusterStatus{
			State: rayv1.Suspended, Head: rayv1.HeadInfo{PodName: "head-0"},
		}, job.Progress{Active: true}, fence.PodsTold},
		"suspended, says such an operator": {stopped, rayv1.RayClusterStatus{State: rayv1.Suspended}, job.Progress{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rc := sample()
			rc.Spec.Suspend, rc.Status = &row.suspend, row.status
			if diff := cmp.Diff(row.want, raycluster.Kind().Progress(rc)); diff != "" {
				t.Errorf("progress differs (-want +got):\n%s", diff)
			}
			if got, _ := job.NewIntegration(raycluster.Kind()).ExpectedReaction(rc); got != row.waits {
				t.Errorf("it waits for %q, want %q", got, row.waits)
			}
			if got, want := raycluster.HoldsPods(rc), !row.suspend || row.want.HoldsPods(); got != want {
				t.Errorf("as a child it holds pods: %v, want %v", got, want)
			}
		})
	}
}

func TestPodsOfARayClusterThatIsDeletedInTheForegroundEndFirst(t *testing.T) {
	rc := sample()
	rc.Spec.Suspend, rc.Status = ptr.To(false), saying(rayv1.Ready, no, no)
	rc.DeletionTimestamp, rc.Finalizers = &noon, []string{metav1.FinalizerDeleteDependents}
	if got, _ := job.NewIntegration(raycluster.Kind()).ExpectedReaction(rc); got != fence.PodsEnd {
		t.Errorf("it waits for %q", got)
	}
}

func TestWhenKubeRayHasActed(t *testing.T) {
	rc := sample()
	at := func() time.Time { return job.NewIntegration(raycluster.Kind()).LastControllerUpdate(rc) }
	if !at().IsZero() {
		t.Errorf("on a RayCluster that nobody has seen: %v", at())
	}
	rc.Status = saying("", yes, no)
	if !at().Equal(later.Time) {
		t.Errorf("%v, want the latest condition's", at())
	}
	end := metav1.NewTime(later.Add(time.Second))
	rc.Status.LastUpdateTime = &end
	if !at().Equal(end.Time) {
		t.Errorf("%v, want the status' own", at())
	}
}
