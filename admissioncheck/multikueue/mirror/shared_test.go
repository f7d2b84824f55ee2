package mirror

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/leaderworkerset"
)

// group is a Workload of one group of a set, as it stands on a cluster.
func groupOf(share Share) Original {
	wl := hubWorkload()
	wl.Labels[kueue.JobUIDLabel] = "set-uid"
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "serve", UID: "set-uid"}}
	return Original{
		Origin: origin, Hub: "hub-uid", Workload: wl, Kind: leaderworkerset.Mirrored(), JobName: "serve", Share: share,
		Job: &lwsv1.LeaderWorkerSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "serve", UID: "set-uid"}, Spec: lwsv1.LeaderWorkerSetSpec{Replicas: ptr.To[int32](2)},
		},
	}
}

// setOnWorker is the copy of the set, changed.
func setOnWorker(change func(*lwsv1.LeaderWorkerSet)) *lwsv1.LeaderWorkerSet {
	set, ok := groupOf(Share{Concerned: true, Epoch: 2}).JobCopy(2, false).(*lwsv1.LeaderWorkerSet)
	if !ok {
		panic("not a LeaderWorkerSet")
	}
	set.UID = "remote-set-uid"
	if change != nil {
		change(set)
	}
	return set
}

func workerOfSets(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kueue.AddToScheme, lwsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{Delete: deleteAsAsked}).Build()
}

func TestTheCopyOfASetBearsTheEpochOfNoGroup(t *testing.T) {
	got := setOnWorker(nil).Annotations
	if _, owned := got[switchyard.OwnerUIDAnnotation]; owned || got[dispatch.EpochAnnotation] != "" || got[switchyard.HubUIDAnnotation] != "hub-uid" {
		t.Errorf("it is stamped %v", got)
	}
}

func TestWhoseASharedObjectIs(t *testing.T) {
	bound, left, other := Share{Concerned: true, Epoch: 2}, Share{Concerned: true, Epoch: 1}, Share{}
	for _, c := range []struct {
		name   string
		share  Share
		change func(*lwsv1.LeaderWorkerSet)
		holder dispatch.Holder
		epoch  int64
	}{
		{"of a group that is bound there", bound, nil, dispatch.Ours, 2},
		{"of the last that has left", left, nil, dispatch.Ours, 1},
		{"held by another group", other, nil, dispatch.Absent, 0},
		{"a copy of an earlier set", other, func(s *lwsv1.LeaderWorkerSet) { s.Annotations[kueue.MultiKueueOriginUIDAnnotation] = "earlier" }, dispatch.Predecessor, 0},
		{"of another hub", bound, func(s *lwsv1.LeaderWorkerSet) { s.Annotations[switchyard.HubUIDAnnotation] = "other" }, dispatch.Foreign, 2},
		{"of another origin", bound, func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.MultiKueueOriginLabel] = "other" }, dispatch.Foreign, 2},
		{"a tenant's", other, func(s *lwsv1.LeaderWorkerSet) { s.Labels, s.Annotations = nil, nil }, dispatch.Foreign, 0},
		{"a tenant's with our label", other, func(s *lwsv1.LeaderWorkerSet) { s.Annotations = nil }, dispatch.Foreign, 0},
		{"one that has lost our label", bound, func(s *lwsv1.LeaderWorkerSet) { s.Labels = nil }, dispatch.Relabelled, 2},
	} {
		got := groupOf(c.share).ObserveJob(setOnWorker(c.change))
		if got.Holder != c.holder || got.Epoch != c.epoch || got.HasWorkloadUID != (c.holder == dispatch.Ours || c.holder == dispatch.Relabelled) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestASetStaysUnderGroupsThatHoldIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		share  Share
		change func(*lwsv1.LeaderWorkerSet)
		gone   bool
	}{
		{"another holds it", Share{}, nil, false},
		{"the last has left it", Share{Concerned: true, Epoch: 1}, nil, true},
		{"it is of an earlier set", Share{}, func(s *lwsv1.LeaderWorkerSet) { s.Annotations[kueue.MultiKueueOriginUIDAnnotation] = "earlier" }, true},
		{"it is a tenant's", Share{Concerned: true, Epoch: 1}, func(s *lwsv1.LeaderWorkerSet) { s.Annotations = nil }, false},
	} {
		o, set := groupOf(c.share), setOnWorker(c.change)
		copied := o.WorkloadCopy(1)
		cl := workerOfSets(t, set, copied)
		if _, err := o.Retract(t.Context(), cl, Removal{BelowEpoch: 2}); err != nil {
			t.Fatal(err)
		}
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(set), &lwsv1.LeaderWorkerSet{}); apierrors.IsNotFound(err) != c.gone {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(copied), &kueue.Workload{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: the copy of the group's own Workload stays: %v", c.name, err)
		}
	}
}

// The first group to be bound makes the copy. To the others it is as good as theirs.
func TestOnlyAnotherSetIsInTheWayOfTheCopy(t *testing.T) {
	admitted := func() *kueue.Workload {
		wl := groupOf(Share{}).WorkloadCopy(2)
		wl.Status.Conditions = []metav1.Condition{
			{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}, {Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue},
		}
		return wl
	}
	for name, c := range map[string]struct {
		there []client.Object
		taken bool
	}{
		"nothing is there":                  {nil, false},
		"another group has made it":         {[]client.Object{setOnWorker(nil)}, false},
		"a tenant's set has its name":       {[]client.Object{setOnWorker(func(s *lwsv1.LeaderWorkerSet) { s.Labels, s.Annotations = nil, nil })}, true},
		"a set of another hub has its name": {[]client.Object{setOnWorker(func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.MultiKueueOriginLabel] = "other" })}, true},
	} {
		cl := workerOfSets(t, append(c.there, admitted())...)
		other, err := groupOf(Share{Concerned: true, Epoch: 2}).CreateJob(t.Context(), cl, 2, false)
		if err != nil || (other != nil) != c.taken {
			t.Errorf("%s: found %v, %v", name, other, err)
		}
		if err := cl.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "serve"}, &lwsv1.LeaderWorkerSet{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
