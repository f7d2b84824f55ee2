package mirror

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// chain are the slices of an elastic job of two pods that has grown to five, and the job on the worker, which was made for the first.
func chain() (first, second Original, remote *batchv1.Job) {
	first, _ = elasticOf(2)
	first.Workload.Annotations[kueue.WorkloadSliceNameAnnotation] = first.Workload.Name
	second, _ = elasticOf(5)
	second.Workload.Name, second.Workload.UID = "second", "second-uid"
	second.Workload.Annotations[kueue.WorkloadSliceNameAnnotation] = first.Workload.Name
	second.Slice.Earlier = []hubworkload.EarlierSlice{{ObjectKey: first.Key(), UID: first.Workload.UID}}
	remote, ok := first.JobCopy(2, false).(*batchv1.Job)
	if !ok {
		panic("not a Job")
	}
	remote.UID = "remote-job-uid"
	return first, second, remote
}

func TestTheJobOfASliceIsThatOfTheNext(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*batchv1.Job)
		want   dispatch.Job
	}{
		{"made for the first", func(*batchv1.Job) {}, dispatch.Job{Holder: dispatch.Ours, HasWorkloadUID: true, OfSlice: true, SizeBehind: true}},
		{"made by a program that knew no slices", func(j *batchv1.Job) { delete(j.Annotations, kueue.WorkloadSliceNameAnnotation) },
			dispatch.Job{Holder: dispatch.Ours, HasWorkloadUID: true, OfSlice: true, SizeBehind: true}},
		{"made by somebody that knows the name of the first", func(j *batchv1.Job) {
			delete(j.Annotations, kueue.WorkloadSliceNameAnnotation)
			delete(j.Annotations, switchyard.OwnerUIDAnnotation)
		}, dispatch.Job{Holder: dispatch.Predecessor}},
		{"and makes a UID up", func(j *batchv1.Job) {
			delete(j.Annotations, kueue.WorkloadSliceNameAnnotation)
			j.Annotations[switchyard.OwnerUIDAnnotation] = "made-up"
		}, dispatch.Job{Holder: dispatch.Predecessor}},
		{"named after the second", func(j *batchv1.Job) { job.NamePrebuiltWorkload(j, "second", false) },
			dispatch.Job{Holder: dispatch.Ours, HasWorkloadUID: true, NamesWorkload: true, SizeBehind: true}},
		{"and of its size", func(j *batchv1.Job) {
			job.NamePrebuiltWorkload(j, "second", true)
			j.Spec.Parallelism = ptr.To[int32](5)
		},
			dispatch.Job{Holder: dispatch.Ours, HasWorkloadUID: true, NamesWorkload: true}},
		{"of more pods than the second", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](9) },
			dispatch.Job{Holder: dispatch.Ours, HasWorkloadUID: true, OfSlice: true, SizeBehind: true, SizeAbove: true}},
		{"of another chain", func(j *batchv1.Job) { j.Annotations[kueue.WorkloadSliceNameAnnotation] = "other" }, dispatch.Job{Holder: dispatch.Predecessor}},
		{"that has lost all marks but the name", func(j *batchv1.Job) {
			j.Labels, j.Annotations = nil, map[string]string{kueue.PrebuiltWorkloadNameKey: job.PrebuiltWorkloadName(j)}
		}, dispatch.Job{Holder: dispatch.Foreign, NamesWorkload: true}},
		{"of another origin", func(j *batchv1.Job) { j.Labels[kueue.MultiKueueOriginLabel] = "other" }, dispatch.Job{Holder: dispatch.Foreign, HasWorkloadUID: true, NamesWorkload: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, second, remote := chain()
			c.change(remote)
			got := second.ObserveJob(remote)
			got.UID, got.Epoch, got.Since, got.StatusBehind = "", 0, c.want.Since, false
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheJobBecomesTheNextSlicesInOneWrite(t *testing.T) {
	_, second, remote := chain()
	delete(remote.Annotations, kueue.WorkloadSliceNameAnnotation)
	cl := worker(t, remote)
	writes := remote.ResourceVersion
	if err := second.ResizeJob(context.Background(), cl, 2, false); err != nil {
		t.Fatal(err)
	}
	if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil {
		t.Fatal(err)
	}
	if job.PrebuiltWorkloadName(remote) != "second" || *remote.Spec.Parallelism != 5 || remote.Annotations["switchyard.dev/owner-uid"] == "second-uid" {
		t.Errorf("the job has %d pods of %s, annotations %v", *remote.Spec.Parallelism, job.PrebuiltWorkloadName(remote), remote.Annotations)
	}
	if j := second.ObserveJob(remote); j.OfSlice || j.SizeBehind || writes == remote.ResourceVersion {
		t.Errorf("it is %+v", j)
	}
}

func TestAJobThatRunsMorePodsThanTheNextSliceIsMadeSmallerUnderItsOldName(t *testing.T) {
	first, second, remote := chain()
	remote.Spec.Parallelism = ptr.To[int32](9)
	cl := worker(t, remote)
	if err := second.ShrinkJob(context.Background(), cl, 2); err != nil {
		t.Fatal(err)
	}
	if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil {
		t.Fatal(err)
	}
	if job.PrebuiltWorkloadName(remote) != first.Workload.Name || *remote.Spec.Parallelism != 5 {
		t.Errorf("the job has %d pods of %s", *remote.Spec.Parallelism, job.PrebuiltWorkloadName(remote))
	}
}

func TestASliceWhoseJobIsAnothersRemovesItsCopyOnly(t *testing.T) {
	for _, c := range []struct {
		name       string
		finalizers []string
		// change is what happens to the copy after it was seen.
		change func(*kueue.Workload)
		gone   bool
	}{
		{"as it was made", nil, nil, true},
		{"with our finalizer", []string{kueue.ResourceInUseFinalizer}, nil, true},
		{"changed since: a job may run by it", nil, func(wl *kueue.Workload) { wl.Labels["changed"] = "since" }, false},
		{"with our finalizer, changed since", []string{kueue.ResourceInUseFinalizer}, func(wl *kueue.Workload) { wl.Labels["changed"] = "since" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, _, remote := chain()
			first.Slice.Passive = true
			copied := first.WorkloadCopy(2)
			copied.Finalizers = c.finalizers
			cl := worker(t, copied, remote)
			if got := first.ObserveJob(remote); got != (dispatch.Job{NamesWorkload: true}) {
				t.Errorf("it sees the job as %+v", got)
			}
			seen := &kueue.Workload{}
			if err := cl.Get(context.Background(), first.Key(), seen); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				changed := seen.DeepCopy()
				c.change(changed)
				if err := cl.Update(context.Background(), changed); err != nil {
					t.Fatal(err)
				}
			}
			_, err := first.Retract(context.Background(), cl, Removal{BelowEpoch: 3, KeepJob: true, Seen: Found{Workload: seen, Job: remote}})
			if (err == nil) != c.gone {
				t.Errorf("error %v", err)
			}
			if err := cl.Get(context.Background(), client.ObjectKeyFromObject(remote), remote); err != nil {
				t.Errorf("the job: %v", err)
			}
			if err := cl.Get(context.Background(), first.Key(), copied); apierrors.IsNotFound(err) != c.gone {
				t.Errorf("the copy: %v, want gone %t", err, c.gone)
			}
		})
	}
}

func TestWhatIsLeftOfTheSlicesBeforeIsToldFromWhatOthersMade(t *testing.T) {
	first, second, _ := chain()
	second.Slice.Earlier[0].AdmittedOn = "w1"
	between := hubworkload.EarlierSlice{ObjectKey: client.ObjectKey{Namespace: "team", Name: "between"}, UID: "between-uid"}
	observe := func(copies ...*kueue.Workload) EarlierCopies {
		return second.ObserveEarlier("w1", func(key client.ObjectKey) *kueue.Workload {
			for _, wl := range copies {
				if client.ObjectKeyFromObject(wl) == key {
					return wl
				}
			}
			return nil
		})
	}
	copied, waiting := first.WorkloadCopy(2), first.WorkloadCopy(2)
	waiting.Name, waiting.Namespace = between.Name, between.Namespace
	if got := observe(copied); got.Replaced.Holder != dispatch.Ours || got.Replaced.Adopted || !got.Waits || got.Running.Name != "" {
		t.Errorf("the copy of the first is %+v", got)
	}
	copied.Labels[kueue.JobUIDLabel] = "remote-job-uid"
	workload.ReserveQuota(copied, &kueue.Admission{}, nil, "", time.Unix(0, 0))
	if got := observe(copied); !got.Replaced.Adopted || got.Waits || got.Running != first.Key() {
		t.Errorf("one by which the job runs is %+v", got)
	}
	second.Slice.Earlier = append([]hubworkload.EarlierSlice{between}, second.Slice.Earlier...)
	if got := observe(waiting); got.Replaced.Holder != dispatch.Absent || !got.Waits {
		t.Errorf("one that waits, without that of the first, is %+v", got)
	}
	if got := observe(waiting, copied); !got.Replaced.Adopted || !got.Waits || got.Running != first.Key() {
		t.Errorf("with a later one that waits it is %+v", got)
	}
	workload.Finish(copied, kueue.ReasonWorkloadSliceReplaced, "", time.Unix(0, 0))
	if got := observe(copied); !got.Replaced.Adopted || got.Waits || got.Running.Name != "" {
		t.Errorf("one that was replaced is %+v", got)
	}
	copied.Labels[kueue.MultiKueueOriginLabel] = "other"
	if got := observe(copied); got != (EarlierCopies{}) {
		t.Errorf("one of another hub is %+v", got)
	}
	elsewhere := hubworkload.EarlierSlice{ObjectKey: client.ObjectKey{Namespace: "team", Name: "elsewhere"}, UID: "elsewhere-uid", AdmittedOn: "w2"}
	second.Slice.Earlier = append(second.Slice.Earlier, elsewhere)
	unused := first.WorkloadCopy(2)
	if got := observe(unused); got.Replaced.Holder != dispatch.Ours || got.Replaced.Adopted {
		t.Errorf("with one that was admitted on another cluster it is %+v", got)
	}
	if got := observe(); got != (EarlierCopies{}) {
		t.Errorf("none is %+v", got)
	}
}

func TestACopyTakesOverFromTheSliceByWhichTheJobRunsThere(t *testing.T) {
	_, second, _ := chain()
	second.Workload.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "team/in-between"
	if got := second.WorkloadCopy(2).Annotations[kueue.WorkloadSliceReplacementForAnnotation]; got != "team/in-between" {
		t.Errorf("where there is none it takes over from %s", got)
	}
	second.Slice.Replaced = client.ObjectKey{Namespace: "team", Name: "first"}
	if got := second.WorkloadCopy(2).Annotations[kueue.WorkloadSliceReplacementForAnnotation]; got != "team/first" {
		t.Errorf("it takes over from %s", got)
	}
}
