package controller

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

func TestWhoseJobBearsTheNameOfAWorkloadsJob(t *testing.T) {
	controlled := func(name, uid string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) {
			wl.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(uid), Controller: ptr.To(true)},
			}
		}
	}
	annotated := func(wl *kueue.Workload) {
		wl.Annotations = map[string]string{kueue.JobOwnerGVKAnnotation: "batch/v1, Kind=Job", kueue.JobOwnerNameAnnotation: "train"}
	}
	labelled := func(uid string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { wl.Labels = map[string]string{kueue.JobUIDLabel: uid} }
	}
	named := func(wl *kueue.Workload) {
		wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train"}}
	}
	both := func(changes ...func(*kueue.Workload)) func(*kueue.Workload) {
		return func(wl *kueue.Workload) {
			for _, change := range changes {
				change(wl)
			}
		}
	}
	for _, c := range []struct {
		name string
		wl   func(*kueue.Workload)
		want bool
	}{
		{"its controller", controlled("train", "job-uid"), true},
		{"one that took its controller's name", controlled("train", "earlier"), false},
		{"its controller, whatever the label says", both(controlled("train", "job-uid"), labelled("other")), true},
		{"the one that the label says", both(named, labelled("job-uid")), true},
		{"another than the label says", both(named, labelled("earlier")), false},
		{"nothing says which", named, true},
		{"an owner of several, where its controller is a part of that", both(annotated, controlled("train-part", "part")), true},
		{"an owner of several, where the label is of a part of that", both(annotated, labelled("part"), func(wl *kueue.Workload) {
			wl.Annotations[kueue.ComponentWorkloadIndexAnnotation] = "1"
		}), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			wl := &kueue.Workload{}
			c.wl(wl)
			own, ok := hubworkload.LookupOwner(wl)
			if !ok || own.Name != "train" {
				t.Fatalf("its job is %+v", own)
			}
			if got := hubworkload.IsOwnedBy(wl, own, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The hub's job controller is slow: the job is deleted and made again before the first one's Workload is Finished.
func TestHowAJobEndedIsNotWrittenIntoAnotherOfItsName(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.submit()
	st.runOn("w1")
	first := st.hubJob()
	if err := st.hub.Delete(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	second := first.DeepCopy()
	second.UID, second.ResourceVersion = "second", ""
	st.create(second)
	completeJobOn(st, "w1")
	st.eventually("finished", func() bool { return workload.IsFinished(st.hubWorkload()) })
	st.eventually("nothing left on w1", func() bool { return st.copyOn("w1") == nil && st.jobOn("w1") == nil })
	if got := st.hubJob(); got.UID != "second" || got.Status.Succeeded != 0 || len(got.Status.Conditions) > 0 {
		t.Errorf("the second job was told how the first ended: %+v", got.Status)
	}
}
