package mirror

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

// following is the hub's job of a kind whose jobs elsewhere follow its backoff limit.
func following() Original {
	kind := batchjob.Kind()
	kind.SyncSpec = func(local, remote *batchv1.Job) bool {
		if ptr.Equal(local.Spec.BackoffLimit, remote.Spec.BackoffLimit) {
			return false
		}
		remote.Spec.BackoffLimit = local.Spec.BackoffLimit
		return true
	}
	o := original()
	o.Kind = job.NewIntegration(kind)
	o.Job.(*batchv1.Job).Spec.BackoffLimit = ptr.To[int32](4)
	return o
}

func TestAJobFollowsTheHubsInItsOwnEpoch(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*batchv1.Job)
		epoch  int64
		want   bool
	}{
		{"of this epoch", func(*batchv1.Job) {}, 2, true},
		{"of another epoch", func(*batchv1.Job) {}, 3, false},
		{"that another hub made", func(j *batchv1.Job) { j.Labels = nil }, 2, false},
		{"that has ended", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
		}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			remote := jobOnWorker(2, c.change)
			cl := worker(t, remote)
			if err := following().SyncSpec(context.Background(), cl, c.epoch); err != nil {
				t.Fatal(err)
			}
			if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil {
				t.Fatal(err)
			}
			if got := ptr.Deref(remote.Spec.BackoffLimit, 0) == 4; got != c.want {
				t.Errorf("followed %v, want %v", got, c.want)
			}
		})
	}
}

func TestAJobThatDiffersInWhatItFollowsIsBehind(t *testing.T) {
	remote := jobOnWorker(2, nil)
	if !following().ObserveJob(remote).SpecBehind {
		t.Error("a job that differs is not behind")
	}
	remote.Spec.BackoffLimit = ptr.To[int32](4)
	if following().ObserveJob(remote).SpecBehind {
		t.Error("a job that does not differ is behind")
	}
	if original().ObserveJob(jobOnWorker(2, nil)).SpecBehind {
		t.Error("a job that follows nothing is behind")
	}
}

func TestAJobThatIsGoneFollowsNothing(t *testing.T) {
	if err := following().SyncSpec(context.Background(), worker(t), 2); err != nil {
		t.Error(err)
	}
}
