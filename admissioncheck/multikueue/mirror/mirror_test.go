package mirror

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

const origin = "hub-1"

func template(cpu string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}},
	}}
}

func hubWorkload() *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "wl", UID: "wl-uid", Finalizers: []string{kueue.ResourceInUseFinalizer},
			Labels:          map[string]string{kueue.JobUIDLabel: "job-uid", "color": "blue"},
			Annotations:     map[string]string{"note": "kept"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "job-uid"}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "q", Priority: ptr.To[int32](5),
			PodSets:         []kueue.PodSet{{Name: "main", Count: 2, Template: template("1")}},
			PreemptionGates: []kueue.PreemptionGate{{Name: "gate"}},
		},
	}
}

func original() Original {
	return Original{
		Origin: origin, Workload: hubWorkload(), Kind: job.NewIntegration(batchjob.Kind()), JobName: "train",
		Job: &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train", UID: "job-uid"},
			Spec: batchv1.JobSpec{
				Suspend: ptr.To(true), ManagedBy: ptr.To(kueue.MultiKueueControllerName), Parallelism: ptr.To[int32](2), Template: template("1"),
			},
		},
	}
}

func worker(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{Delete: deleteAsAsked}).Build()
}

// deleteAsAsked honours the preconditions on the UID, as API servers do and the fake one does not.
func deleteAsAsked(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
	asked := (&client.DeleteOptions{}).ApplyOptions(options)
	stored, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("not an object")
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil {
		return err
	}
	if p := asked.Preconditions; p != nil && p.UID != nil && *p.UID != stored.GetUID() {
		return apierrors.NewConflict(corev1.Resource("objects"), obj.GetName(), errors.New("another UID"))
	}
	return c.Delete(ctx, obj, options...)
}

// onWorker returns the copy of an epoch as a worker would hold it, changed.
func onWorker(epoch int64, change func(*kueue.Workload)) *kueue.Workload {
	wl := original().WorkloadCopy(epoch)
	wl.UID = "remote-uid"
	if change != nil {
		change(wl)
	}
	return wl
}

func jobOnWorker(epoch int64, change func(*batchv1.Job)) *batchv1.Job {
	j, ok := original().JobCopy(epoch, false).(*batchv1.Job)
	if !ok {
		panic("not a Job")
	}
	j.UID = "remote-job-uid"
	if change != nil {
		change(j)
	}
	return j
}

func TestACopyHasSpecLabelsAndStampsButNoOwnerFinalizerOrStatus(t *testing.T) {
	o := original()
	o.Workload.Status.NominatedClusterNames = []string{"w1"}
	got := o.WorkloadCopy(3)
	want := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "wl",
			Labels:      map[string]string{"color": "blue", kueue.MultiKueueOriginLabel: origin},
			Annotations: map[string]string{"note": "kept", switchyard.OwnerUIDAnnotation: "wl-uid", dispatch.EpochAnnotation: "3"},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "q", Priority: ptr.To[int32](5), PodSets: []kueue.PodSet{{Name: "main", Count: 2, Template: template("1")}},
			PreemptionGates: []kueue.PreemptionGate{{Name: "gate"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hubWorkload().Labels, o.Workload.Labels); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
}

func TestWhetherACopyStillEqualsItsOriginal(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		change                func(*kueue.Workload)
		matches, priorityOnly bool
	}{
		{"untouched", nil, true, false},
		{"a quantity in another notation", func(wl *kueue.Workload) { wl.Spec.PodSets[0].Template = template("1000m") }, true, false},
		{"preemption gates of its own", func(wl *kueue.Workload) { wl.Spec.PreemptionGates = []kueue.PreemptionGate{{Name: "x"}} }, true, false},
		{"another priority", func(wl *kueue.Workload) { wl.Spec.Priority = ptr.To[int32](6) }, false, true},
		{"a priority class", func(wl *kueue.Workload) {
			wl.Spec.PriorityClassRef = &kueue.PriorityClassRef{Group: "kueue.x-k8s.io", Kind: "WorkloadPriorityClass", Name: "high"}
		}, false, true},
		{"another count", func(wl *kueue.Workload) { wl.Spec.PodSets[0].Count = 3 }, false, false},
		{"another queue", func(wl *kueue.Workload) { wl.Spec.QueueName = "other" }, false, false},
		{"another count and priority", func(wl *kueue.Workload) { wl.Spec.PodSets[0].Count = 3; wl.Spec.Priority = nil }, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			remote := onWorker(1, tc.change)
			for _, stripped := range []bool{false, true, true} {
				if stripped {
					StripWorkload(remote)
				}
				got := original().ObserveWorkload(remote)
				if got.SpecMatches != tc.matches || got.OnlyPriorityDiffers != tc.priorityOnly {
					t.Errorf("stripped %v: matches %v, priority only %v", stripped, got.SpecMatches, got.OnlyPriorityDiffers)
				}
			}
			if len(remote.Spec.PodSets) > 0 {
				t.Error("the pod sets were not stripped")
			}
		})
	}
}

// What a stripped object keeps its shape under is no annotation that a person could write, and is not looked for in objects that
// are whole.
func TestNobodyGivesAWorkloadAShapeOfHisChoice(t *testing.T) {
	if len(validation.IsQualifiedName(shapeAnnotation)) == 0 {
		t.Errorf("an API server would store %q", shapeAnnotation)
	}
	for _, key := range []string{shapeAnnotation, "switchyard.dev/cached-shape"} {
		remote := onWorker(1, func(wl *kueue.Workload) {
			wl.Spec.PodSets[0].Count = 3
			wl.Annotations[key] = Shape(original().Workload)
		})
		for _, stripped := range []bool{false, true} {
			if stripped {
				StripWorkload(remote)
			}
			if got := original().ObserveWorkload(remote); got.SpecMatches {
				t.Errorf("%s, stripped %v: a copy of another count passes for equal", key, stripped)
			}
		}
		hub := original()
		hub.Workload = hub.Workload.DeepCopy()
		hub.Workload.Annotations[key] = Shape(remote)
		if got := hub.ObserveWorkload(remote); got.SpecMatches {
			t.Errorf("%s on the hub: a copy of another count passes for equal", key)
		}
	}
}

func TestWhoseAnObjectOnAWorkerIs(t *testing.T) {
	stamp := func(uid string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { wl.Annotations[switchyard.OwnerUIDAnnotation] = uid }
	}
	unstamped := func(wl *kueue.Workload) { wl.Annotations = nil }
	labelled := func(value string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { wl.Labels[kueue.MultiKueueOriginLabel] = value }
	}
	for _, tc := range []struct {
		name   string
		change func(*kueue.Workload)
		gone   bool
		want   dispatch.Holder
		epoch  int64
	}{
		{name: "made by us", want: dispatch.Ours, epoch: 4},
		{name: "made by another program of our origin", change: unstamped, want: dispatch.Ours},
		{name: "made for an earlier workload", change: stamp("old"), want: dispatch.Predecessor, epoch: 4},
		{name: "made by another hub", change: labelled("hub-2"), want: dispatch.Foreign, epoch: 4},
		{name: "made by somebody on the worker", change: func(wl *kueue.Workload) { wl.Labels, wl.Annotations = nil, nil }, want: dispatch.Foreign},
		{name: "made by us, its label taken off", change: func(wl *kueue.Workload) { wl.Labels = nil }, want: dispatch.Relabelled, epoch: 4},
		{name: "made by us, its label emptied", change: labelled(""), want: dispatch.Relabelled, epoch: 4},
		{name: "made for a workload that is no more", change: stamp("whoever"), gone: true, want: dispatch.Ours, epoch: 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := original()
			o.Deleted = tc.gone
			got := o.ObserveWorkload(onWorker(4, tc.change))
			if got.Holder != tc.want || got.Epoch != tc.epoch {
				t.Errorf("holder %v of epoch %d", got.Holder, got.Epoch)
			}
		})
	}
	if got := original().ObserveWorkload(nil); got.Holder != dispatch.Absent {
		t.Errorf("nothing is held by %v", got.Holder)
	}
	o := original()
	o.Origin = ""
	if got := o.ObserveWorkload(onWorker(1, labelled(""))); got.Holder != dispatch.Foreign {
		t.Errorf("an empty origin owns an object: %v", got.Holder)
	}
}

func TestAJobThatNamesAnotherWorkloadIsAPredecessors(t *testing.T) {
	remote := jobOnWorker(0, func(j *batchv1.Job) {
		j.Annotations = map[string]string{kueue.PrebuiltWorkloadNameKey: "another"}
	})
	if got := original().ObserveJob(remote).Holder; got != dispatch.Predecessor {
		t.Errorf("holder %v", got)
	}
}

func TestTheFactsOfACopy(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	condition := func(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: since}
	}
	got := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) {
		wl.DeletionTimestamp = &since
		wl.OwnerReferences = []metav1.OwnerReference{{Name: "train", Controller: ptr.To(true)}}
		wl.Status.Conditions = []metav1.Condition{
			condition("QuotaReserved", metav1.ConditionTrue, "QuotaReserved", "yes"),
			condition("Admitted", metav1.ConditionTrue, "Admitted", "yes"),
			condition("Evicted", metav1.ConditionTrue, "Preempted", "sorry"),
			condition("DeactivationTarget", metav1.ConditionTrue, "x", ""),
			condition("Finished", metav1.ConditionTrue, "Succeeded", "done"),
		}
	}))
	want := dispatch.Copy{
		Holder: dispatch.Ours, Epoch: 1, SpecMatches: true, QuotaReserved: true, Admitted: true, AdmittedAt: since.Time, Evicted: true, EvictedAt: since.Time, Since: since.Time,
		Deactivating: true, Adopted: true, HasWorkloadUID: true, Deleting: true, Finished: &dispatch.Outcome{Reason: "Succeeded", Message: "done"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	waiting := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) {
		wl.Status.Conditions = []metav1.Condition{condition("QuotaReserved", metav1.ConditionFalse, "WaitingForQuota", "no room")}
	}))
	if waiting.QuotaReserved || waiting.Refused || waiting.WaitingMessage != "no room" || waiting.WaitingReason != "WaitingForQuota" {
		t.Errorf("facts %+v", waiting)
	}
	refused := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) {
		wl.Status.Conditions = []metav1.Condition{condition("QuotaReserved", metav1.ConditionFalse, "ExceedsMaxQuota", "too big")}
	}))
	if refused.QuotaReserved || !refused.Refused || refused.WaitingMessage != "too big" || refused.WaitingReason != "ExceedsMaxQuota" {
		t.Errorf("facts %+v", refused)
	}
	made := metav1.NewTime(since.Add(-time.Hour))
	foreign := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) {
		wl.Labels, wl.Annotations, wl.CreationTimestamp = nil, nil, made
		wl.Status.Conditions = []metav1.Condition{condition("QuotaReserved", metav1.ConditionTrue, "QuotaReserved", "yes")}
	}))
	if foreign.Holder != dispatch.Foreign || !foreign.Since.Equal(made.Time) {
		t.Errorf("a foreign object has had the name since %v", foreign.Since)
	}
	remote := jobOnWorker(1, func(j *batchv1.Job) { j.CreationTimestamp = made })
	if got := original().ObserveJob(remote).Since; !got.Equal(made.Time) {
		t.Errorf("the job was made %v", got)
	}
}

func exists(t *testing.T, c client.Client, obj client.Object) bool {
	t.Helper()
	err := c.Get(context.Background(), client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

func TestWhatARetractRemoves(t *testing.T) {
	finished := func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	for _, tc := range []struct {
		name               string
		workload           *kueue.Workload
		job                *batchv1.Job
		below              int64
		spare              bool
		wantCopy, wantJob  bool // whether they stay
		wantSparedEvidence bool
	}{
		{name: "an older epoch's copy and job", workload: onWorker(1, nil), job: jobOnWorker(1, nil), below: 2},
		{name: "nothing of the present epoch", workload: onWorker(2, nil), job: jobOnWorker(2, nil), below: 2, wantCopy: true, wantJob: true},
		{name: "the older job only", workload: onWorker(2, nil), job: jobOnWorker(1, nil), below: 2, wantCopy: true},
		{
			name:     "what has no stamp",
			workload: onWorker(0, func(wl *kueue.Workload) { wl.Annotations = nil }),
			job: jobOnWorker(0, func(j *batchv1.Job) {
				delete(j.Annotations, switchyard.OwnerUIDAnnotation)
				delete(j.Annotations, dispatch.EpochAnnotation)
			}),
			below: 1,
		},
		{
			name:     "a predecessor's, whatever its epoch",
			workload: onWorker(9, func(wl *kueue.Workload) { wl.Annotations[switchyard.OwnerUIDAnnotation] = "old" }),
			job:      jobOnWorker(9, func(j *batchv1.Job) { j.Annotations[switchyard.OwnerUIDAnnotation] = "old" }),
			below:    2,
		},
		{
			name:     "nothing foreign",
			workload: onWorker(1, func(wl *kueue.Workload) { wl.Labels, wl.Annotations = nil, nil }),
			job:      jobOnWorker(1, func(j *batchv1.Job) { j.Labels[kueue.MultiKueueOriginLabel] = "hub-2" }),
			below:    2, wantCopy: true, wantJob: true,
		},
		{
			name:     "what has lost its label, if it bears the Workload's UID",
			workload: onWorker(1, func(wl *kueue.Workload) { wl.Labels = nil }),
			job:      jobOnWorker(1, func(j *batchv1.Job) { j.Labels = nil }),
			below:    2,
		},
		{
			name: "nothing of the present epoch that has lost its label",
			job:  jobOnWorker(2, func(j *batchv1.Job) { j.Labels = nil }), workload: onWorker(2, nil),
			below: 2, wantCopy: true, wantJob: true,
		},
		{
			name: "no job that bears nothing but our label",
			job: jobOnWorker(0, func(j *batchv1.Job) {
				j.Annotations, j.Labels = nil, map[string]string{kueue.MultiKueueOriginLabel: origin}
			}),
			workload: onWorker(2, nil), below: 2, wantCopy: true, wantJob: true,
		},
		{
			name:     "a copy with our finalizer",
			workload: onWorker(1, func(wl *kueue.Workload) { wl.Finalizers = []string{kueue.ResourceInUseFinalizer} }),
			below:    2,
		},
		{name: "a finished job if it need not be spared", workload: onWorker(1, nil), job: jobOnWorker(1, finished), below: 2},
		{
			name: "not a finished job that nobody has seen", workload: onWorker(1, nil), job: jobOnWorker(1, finished), below: 2, spare: true,
			wantCopy: true, wantJob: true, wantSparedEvidence: true,
		},
		{
			name:     "a predecessor's finished job, which nobody waits for",
			workload: onWorker(1, func(wl *kueue.Workload) { wl.Annotations[switchyard.OwnerUIDAnnotation] = "old" }),
			job: jobOnWorker(1, func(j *batchv1.Job) {
				finished(j)
				j.Annotations[switchyard.OwnerUIDAnnotation] = "old"
			}),
			below: 2, spare: true,
		},
		{name: "an unfinished job that would be spared if finished", workload: onWorker(1, nil), job: jobOnWorker(1, nil), below: 2, spare: true},
	} {
		for _, seen := range []bool{true, false} {
			t.Run(tc.name, func(t *testing.T) {
				objects := []client.Object{tc.workload.DeepCopy()}
				if tc.job != nil {
					objects = append(objects, tc.job.DeepCopy())
				}
				c := worker(t, objects...)
				removal := Removal{BelowEpoch: tc.below, SpareJob: tc.spare}
				if seen {
					found, err := original().Read(context.Background(), c)
					if err != nil {
						t.Fatal(err)
					}
					removal.Seen = found
				}
				spared, err := original().Retract(context.Background(), c, removal)
				if err != nil || (spared != nil) != tc.wantSparedEvidence {
					t.Fatalf("spared %+v, error %v", spared, err)
				}
				if got := exists(t, c, &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}}); got != tc.wantCopy {
					t.Errorf("the copy is there: %v", got)
				}
				if got := exists(t, c, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train"}}); got != tc.wantJob {
					t.Errorf("the job is there: %v", got)
				}
			})
		}
	}
}

func TestARemovalNeverHitsAnObjectThatTookThePlaceOfTheOneSeen(t *testing.T) {
	seen := onWorker(1, nil)
	c := worker(t, onWorker(2, func(wl *kueue.Workload) { wl.UID = "newer" }))
	_, err := original().Retract(context.Background(), c, Removal{BelowEpoch: 2, Seen: Found{Workload: seen}})
	if !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	if !exists(t, c, &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl"}}) {
		t.Error("the newer copy was removed")
	}
}

func TestOnlyWhatMayRunIsAskedAboutBeforeItIsRemoved(t *testing.T) {
	adopted := func(wl *kueue.Workload) { wl.Labels[kueue.JobUIDLabel] = "remote-job-uid" }
	for _, tc := range []struct {
		name     string
		workload *kueue.Workload
		job      *batchv1.Job
		removal  Removal
		asks     bool
	}{
		{"an offer", onWorker(1, nil), nil, Removal{BelowEpoch: 2}, false},
		{"an offer, sparing", onWorker(1, nil), nil, Removal{BelowEpoch: 2, SpareJob: true}, false},
		{"a job", onWorker(1, nil), jobOnWorker(1, nil), Removal{BelowEpoch: 2}, true},
		{"a copy that a job has taken up", onWorker(1, adopted), nil, Removal{BelowEpoch: 2}, true},
		{"what is not removed anyway", onWorker(2, adopted), jobOnWorker(2, nil), Removal{BelowEpoch: 2}, false},
		{"a job that the cache does not show", onWorker(1, nil), jobOnWorker(1, nil), Removal{BelowEpoch: 2, SpareJob: true, Seen: Found{Workload: onWorker(1, nil)}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects := []client.Object{tc.workload.DeepCopy()}
			if tc.job != nil {
				objects = append(objects, tc.job.DeepCopy())
			}
			c := worker(t, objects...)
			doubt := errors.New("nobody knows")
			asked := false
			tc.removal.Confirm = func(context.Context) error { asked = true; return doubt }
			if _, err := original().Retract(t.Context(), c, tc.removal); errors.Is(err, doubt) != tc.asks || asked != tc.asks {
				t.Errorf("asked: %v, error %v", asked, err)
			}
			if tc.asks && (!exists(t, c, tc.workload.DeepCopy()) || tc.job != nil && !exists(t, c, tc.job.DeepCopy())) {
				t.Error("it was removed all the same")
			}
		})
	}
}

func admittedCopy(epoch int64, change func(*kueue.Workload)) *kueue.Workload {
	return onWorker(epoch, func(wl *kueue.Workload) {
		wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}}
		if change != nil {
			change(wl)
		}
	})
}

func TestAJobIsCreatedOnlyUnderAnAdmittedCopyOfItsEpoch(t *testing.T) {
	withCondition := func(name string) func(*kueue.Workload) {
		return func(wl *kueue.Workload) {
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue})
		}
	}
	for _, tc := range []struct {
		name    string
		objects []client.Object
		want    bool
	}{
		{"admitted", []client.Object{admittedCopy(2, nil)}, true},
		{"not admitted", []client.Object{onWorker(2, nil)}, false},
		{"of another epoch", []client.Object{admittedCopy(1, nil)}, false},
		{"finished", []client.Object{admittedCopy(2, withCondition(kueue.WorkloadFinished))}, false},
		{"evicted", []client.Object{admittedCopy(2, withCondition(kueue.WorkloadEvicted))}, false},
		{"foreign", []client.Object{admittedCopy(2, func(wl *kueue.Workload) { wl.Labels = nil })}, false},
		{"adopted by a job", []client.Object{admittedCopy(2, func(wl *kueue.Workload) {
			wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: ptr.To(true)}}
		})}, false},
		{"no copy at all", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := worker(t, tc.objects...)
			other, err := original().CreateJob(context.Background(), c, 2, false)
			if err != nil || (other == nil) != tc.want {
				t.Errorf("found %+v, error %v", other, err)
			}
			if got := exists(t, c, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train"}}); got != tc.want {
				t.Errorf("the job was created: %v", got)
			}
		})
	}
}

func TestAJobWithoutOriginalIsAnError(t *testing.T) {
	o := original()
	o.Job = nil
	if _, err := o.CreateJob(context.Background(), worker(t), 1, false); !errors.Is(err, ErrNoJob) {
		t.Errorf("error %v", err)
	}
}

func TestAForeignJobIsFoundNotTouched(t *testing.T) {
	foreign := jobOnWorker(2, func(j *batchv1.Job) { j.Labels, j.Annotations = map[string]string{"mine": "yes"}, nil })
	c := worker(t, admittedCopy(2, nil), foreign)
	other, err := original().CreateJob(context.Background(), c, 2, false)
	if err != nil || other == nil || original().ObserveJob(other.Job).Holder != dispatch.Foreign {
		t.Errorf("found %+v, error %v", other, err)
	}
}

func TestACopyThatExistsAlreadyIsAsGoodIfItIsOfThisEpoch(t *testing.T) {
	for epoch, wantOther := range map[int64]bool{1: true, 2: false} {
		created, other, err := original().CreateOffer(context.Background(), worker(t, onWorker(epoch, nil)), 2)
		if created || err != nil || (other != nil) != wantOther {
			t.Errorf("epoch %d: created %v, found %+v, error %v", epoch, created, other, err)
		}
	}
	created, other, err := original().CreateOffer(context.Background(), worker(t), 2)
	if !created || other != nil || err != nil {
		t.Errorf("created %v, found %+v, error %v", created, other, err)
	}
}

func TestAnEvictionIsWrittenOnceAndKeepsWhatTheWorkerHasWritten(t *testing.T) {
	c := worker(t, admittedCopy(1, nil))
	for range 2 {
		if err := original().Evict(context.Background(), c, 2, "Evicted on manager: x", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	wl := &kueue.Workload{}
	if err := c.Get(context.Background(), types.NamespacedName{Namespace: "ns", Name: "wl"}, wl); err != nil {
		t.Fatal(err)
	}
	target := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadDeactivationTarget)
	if target == nil || target.Reason != "EvictedOnManagerCluster" || target.Message != "Evicted on manager: x" {
		t.Errorf("condition %+v", target)
	}
	if !meta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted) {
		t.Error("the worker's own condition is gone")
	}
	if err := original().Evict(context.Background(), worker(t, admittedCopy(2, nil)), 2, "x", time.Now()); err != nil {
		t.Errorf("a copy of the present epoch: %v", err)
	}
}

// Whatever the job says of its end, the worker's Workload and the hub's say the same: a program that compares them does not
// wait in vain.
func TestTheOutcomeOfAJob(t *testing.T) {
	ended := func(condition batchv1.JobConditionType, message string) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Message: message}}}}
	}
	kind := job.NewIntegration(batchjob.Kind())
	if got := Outcome(kind, &batchv1.Job{}); got != nil {
		t.Errorf("an unfinished job ended with %+v", got)
	}
	for _, c := range []struct {
		condition             batchv1.JobConditionType
		message, reason, want string
	}{
		{batchv1.JobComplete, "why", "Succeeded", "why"},
		{batchv1.JobFailed, "why", "Failed", "why"},
		{batchv1.JobComplete, "", "Succeeded", "Job finished successfully"},
		{batchv1.JobFailed, "", "Failed", "Job failed"},
	} {
		want := dispatch.Outcome{Reason: c.reason, Message: c.want}
		if got := Outcome(kind, ended(c.condition, c.message)); got == nil || *got != want {
			t.Errorf("%s %q: outcome %+v, want %+v", c.condition, c.message, got, want)
		}
	}
}

// What is left of a Workload that the hub does not have goes in the background, as with the public API, unless it was to be
// fenced: then its object stays until its pods have ended.
func TestWhatIsForgottenStaysUntilItsPodsHaveEndedOnlyIfItWasToBeFenced(t *testing.T) {
	for _, tc := range []struct {
		name         string
		gone, stamps bool
		want         metav1.DeletionPropagation
	}{
		{"known", false, false, metav1.DeletePropagationForeground},
		{"forgotten", true, false, metav1.DeletePropagationBackground},
		{"forgotten, to be fenced", true, true, metav1.DeletePropagationForeground},
	} {
		t.Run(tc.name, func(t *testing.T) {
			left := jobOnWorker(1, func(j *batchv1.Job) {
				if tc.stamps {
					j.Annotations[switchyard.OnHubLostAnnotation] = string(switchyard.Stop)
				}
			})
			c := &deletions{Client: worker(t, left)}
			o := original()
			o.Deleted = tc.gone
			if _, err := o.Retract(t.Context(), c, Removal{BelowEpoch: 2, Foreground: true}); err != nil || c.propagation != tc.want {
				t.Errorf("removed with propagation %q, error %v, want %q", c.propagation, err, tc.want)
			}
		})
	}
}

// deletions remembers how the last object was asked to be deleted.
type deletions struct {
	client.Client
	propagation metav1.DeletionPropagation
}

func (d *deletions) Delete(_ context.Context, _ client.Object, o ...client.DeleteOption) error {
	options := &client.DeleteOptions{}
	d.propagation = *options.ApplyOptions(o).PropagationPolicy
	return nil
}

// What the facts say of a job that claims to be the Workload's: whether it bears its UID, whether it names it, and which job
// took up the copy.
func TestTheFactsOfAClaim(t *testing.T) {
	bare := func(j *batchv1.Job) {
		j.Annotations, j.Labels = nil, map[string]string{kueue.MultiKueueOriginLabel: origin}
	}
	for _, tc := range []struct {
		name           string
		change         func(*batchv1.Job)
		holder         dispatch.Holder
		stamped, named bool
	}{
		{name: "as we make it", holder: dispatch.Ours, stamped: true, named: true},
		{name: "nothing but the public label", change: bare, holder: dispatch.Foreign},
		{name: "as a hub without stamps makes it", holder: dispatch.Ours, named: true, change: func(j *batchv1.Job) {
			bare(j)
			j.Labels[kueue.PrebuiltWorkloadNameKey] = "wl"
		}},
		{name: "for another Workload", holder: dispatch.Predecessor, change: func(j *batchv1.Job) {
			bare(j)
			j.Labels[kueue.PrebuiltWorkloadNameKey] = "other"
		}},
		{name: "its label taken off", holder: dispatch.Relabelled, stamped: true, named: true, change: func(j *batchv1.Job) { j.Labels = nil }},
		{name: "all but the name taken off", holder: dispatch.Foreign, named: true, change: func(j *batchv1.Job) {
			j.Annotations, j.Labels = map[string]string{kueue.PrebuiltWorkloadNameKey: "wl"}, nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := original().ObserveJob(jobOnWorker(1, tc.change))
			if got.Holder != tc.holder || got.HasWorkloadUID != tc.stamped || got.NamesWorkload != tc.named || got.UID != "remote-job-uid" {
				t.Errorf("%+v", got)
			}
		})
	}
	owned := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) {
		wl.Labels[kueue.JobUIDLabel] = "before"
		wl.OwnerReferences = []metav1.OwnerReference{{UID: "now", Controller: ptr.To(true)}}
	}))
	orphaned := original().ObserveWorkload(onWorker(1, func(wl *kueue.Workload) { wl.Labels[kueue.JobUIDLabel] = "before" }))
	if !owned.Adopted || owned.AdoptedBy != "now" || !orphaned.Adopted || orphaned.AdoptedBy != "before" {
		t.Errorf("owned %+v, orphaned %+v", owned, orphaned)
	}
}
