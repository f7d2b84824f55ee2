package controller

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// What is gone has ended only if its end was seen: an object that is deleted in the background goes before its pods.
func TestWhetherThePodsOfWhatIsGoneHaveEnded(t *testing.T) {
	const foreground = metav1.FinalizerDeleteDependents
	jobOf := func(epoch int64, active int32, finalizers ...string) client.Object {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: mirror.Stamps("u", epoch), Finalizers: finalizers}}
		job.Status.Active = active
		return job
	}
	ending := jobOf(2, 0, foreground).(*batchv1.Job)
	ending.Status.Terminating = ptr.To(int32(1))
	copyOf := func(epoch int64, adopted bool) client.Object {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Annotations: mirror.Stamps("u", epoch)}}
		if adopted {
			wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "x", Controller: ptr.To(true)}}
		}
		return wl
	}
	watched := func(obj client.Object) fleet.DeletedObject {
		return fleet.DeletedObject{LastState: obj, DeletionObserved: true}
	}
	for _, c := range []struct {
		name string
		last deletedObjects
		want int64
	}{
		{"nothing is remembered", deletedObjects{}, 0},
		{"the hub's own removal has come to its end", deletedObjects{job: watched(jobOf(2, 0, foreground))}, 2},
		{"somebody may have hurried it", deletedObjects{job: watched(jobOf(2, 1, foreground))}, 0},
		{"its pods were being terminated when somebody may have hurried it", deletedObjects{job: watched(ending)}, 0},
		{"somebody has deleted it in the background", deletedObjects{job: watched(jobOf(2, 1))}, 0},
		{"even if it showed no pods: it may not have shown them yet", deletedObjects{job: watched(jobOf(2, 0))}, 0},
		{"it went while nobody looked", deletedObjects{job: fleet.DeletedObject{LastState: jobOf(2, 0, foreground)}}, 0},
		{"an offer that no job had taken up", deletedObjects{workload: watched(copyOf(2, false))}, 2},
		{"one that a job had taken up", deletedObjects{workload: watched(copyOf(2, true))}, 0},
		{"one that went while nobody looked", deletedObjects{workload: fleet.DeletedObject{LastState: copyOf(2, false)}}, 0},
		{"an offer after the job", deletedObjects{job: watched(jobOf(2, 1)), workload: watched(copyOf(3, false))}, 3},
		{"the job's own copy says nothing of its pods", deletedObjects{job: watched(jobOf(2, 1)), workload: watched(copyOf(2, false))}, 0},
		{"what bears no stamp is of the first epoch", deletedObjects{workload: watched(&kueue.Workload{})}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := stoppedEpoch(mirror.Original{Origin: origin, Workload: &kueue.Workload{}, Kind: batchJobKind(t)}, c.last, false); got != c.want {
				t.Errorf("pods have ended up to epoch %d, want %d", got, c.want)
			}
		})
	}
	hurried := deletedObjects{job: watched(jobOf(2, 1, foreground))}
	if got := stoppedEpoch(mirror.Original{Origin: origin, Workload: &kueue.Workload{}, Kind: batchJobKind(t)}, hurried, true); got != 2 {
		t.Errorf("where nobody can hurry it, pods have ended up to epoch %d, want 2", got)
	}
}
