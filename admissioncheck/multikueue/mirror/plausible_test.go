package mirror

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
)

var (
	hubMade = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	hubNow  = hubMade.Add(time.Hour)
)

// ofJob is an Original whose job on the hub was made at hubMade, and which is looked at when it is hubNow.
func ofJob(remote client.Object) Original {
	var kind job.Integration
	for _, k := range all.Kinds() {
		if k.GVK().Kind == "Job" {
			kind = k
		}
	}
	local := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(hubMade)}}
	if u, is := remote.(*unstructured.Unstructured); is {
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"})
		kind = job.External(u.GroupVersionKind())
	}
	return Original{
		Kind: kind, Job: local, Now: hubNow,
		Workload: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(hubMade)}},
	}
}

func at(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t)) }

func TestWhatAWorkerCountsAndDatesIsSuchAsItCanMean(t *testing.T) {
	soon, past, future := hubMade.Add(time.Minute), hubMade.AddDate(-50, 0, 0), hubNow.AddDate(500, 0, 0)
	ended := func(when time.Time) []batchv1.JobCondition {
		return []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: *at(when)}}
	}
	for name, tc := range map[string]struct{ says, want batchv1.JobStatus }{
		"what can be": {
			says: batchv1.JobStatus{Active: 2, Ready: ptr.To[int32](1), Succeeded: 3, StartTime: at(soon)},
			want: batchv1.JobStatus{Active: 2, Ready: ptr.To[int32](1), Succeeded: 3, StartTime: at(soon)},
		},
		"less than none": {
			says: batchv1.JobStatus{Active: -1, Ready: ptr.To[int32](-2), Terminating: ptr.To[int32](-3), Succeeded: -5, Failed: math.MinInt32},
			want: batchv1.JobStatus{Ready: ptr.To[int32](0), Terminating: ptr.To[int32](0)},
		},
		"more than there can be": {
			says: batchv1.JobStatus{Active: math.MaxInt32, Ready: ptr.To[int32](math.MaxInt32), Succeeded: math.MaxInt32},
			want: batchv1.JobStatus{Active: MaxCount, Ready: ptr.To[int32](MaxCount), Succeeded: MaxCount},
		},
		"more ready than active": {
			says: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](math.MaxInt32)},
			want: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](1)},
		},
		"started before it was made":     {says: batchv1.JobStatus{StartTime: at(past)}, want: batchv1.JobStatus{StartTime: at(hubMade)}},
		"started in centuries":           {says: batchv1.JobStatus{StartTime: at(future)}, want: batchv1.JobStatus{StartTime: at(hubMade)}},
		"clocks that are a little apart": {says: batchv1.JobStatus{StartTime: at(hubNow.Add(30 * time.Second))}, want: batchv1.JobStatus{StartTime: at(hubNow.Add(30 * time.Second))}},
		"ended long ago: it would be cleaned up at once": {
			says: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(past), Conditions: ended(past)},
			want: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(hubNow), Conditions: ended(hubNow)},
		},
		"ended in centuries: it would never be": {
			says: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(future), Conditions: ended(future)},
			want: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(hubNow), Conditions: ended(hubNow)},
		},
		"ended before it started": {
			says: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(hubMade), Conditions: ended(soon)},
			want: batchv1.JobStatus{StartTime: at(soon), CompletionTime: at(soon), Conditions: ended(soon)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			remote := &batchv1.Job{Status: *tc.says.DeepCopy()}
			shown, small := ofJob(remote).sanitizeStatus(remote)
			if diff := cmp.Diff(tc.want, shown.(*batchv1.Job).Status); diff != "" || !small {
				t.Errorf("small %v, want -, is +:\n%s", small, diff)
			}
			if diff := cmp.Diff(tc.says, remote.Status); diff != "" {
				t.Errorf("the original was changed:\n%s", diff)
			}
		})
	}
}

func TestCountsAndTimesOfKindsWithoutGoTypeAreJudgedToo(t *testing.T) {
	remote := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"startTime": "1970-01-01T00:00:00Z", "millis": int64(1_800_000_000_000), "exitCode": int64(-1),
		"replicaStatuses": map[string]any{"Worker": map[string]any{"active": int64(-4), "succeeded": float64(1e18)}},
	}}}
	shown, _ := ofJob(remote).sanitizeStatus(remote)
	want := map[string]any{
		"startTime": hubMade.Format(time.RFC3339), "millis": int64(1_800_000_000_000), "exitCode": int64(-1),
		"replicaStatuses": map[string]any{"Worker": map[string]any{"active": int64(0), "succeeded": float64(MaxCount)}},
	}
	if diff := cmp.Diff(want, shown.(*unstructured.Unstructured).Object["status"]); diff != "" {
		t.Errorf("want -, is +:\n%s", diff)
	}
}

func TestTimesOfACopyAreSuchAsAWorkerCanMean(t *testing.T) {
	o := ofJob(&batchv1.Job{})
	soon := hubMade.Add(time.Minute)
	all := func(at time.Time) dispatch.Copy {
		return dispatch.Copy{Holder: dispatch.Ours, Since: at, EvictedAt: at, AdmittedAt: at, BlockedSince: at, GateOpenedAt: at}
	}
	for name, tc := range map[string]struct{ says, want time.Time }{
		"can be":           {soon, soon},
		"none":             {},
		"a little ahead":   {hubNow.Add(time.Second), hubNow.Add(time.Second)},
		"ages ago":         {time.Unix(0, 0), hubMade},
		"in centuries":     {hubNow.AddDate(1000, 0, 0), hubMade},
		"before the hub's": {hubMade.Add(-time.Hour), hubMade},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(all(tc.want), o.Plausible(all(tc.says))); diff != "" {
				t.Errorf("want -, is +:\n%s", diff)
			}
		})
	}
	foreign := dispatch.Copy{Holder: dispatch.Foreign, Since: time.Unix(0, 0)}
	if got := o.Plausible(foreign); !got.Since.Equal(foreign.Since) {
		t.Error("an object of others may be older")
	}
}
