package controller

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	"switchyard.dev/admissioncheck/multikueue/mirror"
	"switchyard.dev/admissioncheck/multikueue/tracker"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/leaderworkerset"
)

// groupWorkload is that of one group of a set, bound to a cluster if one is named.
func groupWorkload(index int, bound string) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: annotatedMeta("serve-"+strconv.Itoa(index), kueue.ComponentWorkloadIndexAnnotation, strconv.Itoa(index))}
	wl.Namespace, wl.UID = "team", types.UID(wl.Name)
	wl.Labels = map[string]string{kueue.JobUIDLabel: "set-uid"}
	wl.Annotations[kueue.JobOwnerGVKAnnotation], wl.Annotations[kueue.JobOwnerNameAnnotation] = "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet", "serve"
	if bound != "" {
		wl.Status.ClusterName = ptr.To(bound)
	}
	return wl
}

// groupScope is a group, of a set of so many, on a hub that has these Workloads besides.
func groupScope(t *testing.T, groups int32, wl *kueue.Workload, others ...*kueue.Workload) (*WorkloadReconciler, *workloadScope) {
	t.Helper()
	builder := newBuilder(t, testScheme(t))
	for _, one := range append(others, wl) {
		builder = builder.WithObjects(one)
	}
	s := &workloadScope{state: hubworkload.DecodeState(wl), original: mirror.Original{
		Origin: origin, Kind: leaderworkerset.Mirrored(), JobName: "serve", Workload: wl,
		Job: &lwsv1.LeaderWorkerSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "serve", UID: "set-uid"}, Spec: lwsv1.LeaderWorkerSetSpec{Replicas: &groups},
		},
	}}
	r := &WorkloadReconciler{Client: builder.Build()}
	r.observeSiblings(t.Context(), wl, &s.observed.Local)
	if err := r.observeShare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return r, s
}

func TestNoGroupChoosesAClusterBeforeAllAreThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups int32
		index  int
		others []*kueue.Workload
		want   dispatch.Siblings
	}{
		{"the only one", 1, 0, nil, dispatch.Siblings{}},
		{"the first of two", 2, 0, nil, dispatch.Siblings{Awaited: true}},
		{"the first, when all are there", 2, 0, []*kueue.Workload{groupWorkload(1, "")}, dispatch.Siblings{}},
		{"the second, when all are there", 2, 1, []*kueue.Workload{groupWorkload(0, "")}, dispatch.Siblings{Awaited: true}},
		{"one that is added to those that run", 3, 1, []*kueue.Workload{groupWorkload(0, "w2")}, dispatch.Siblings{Pin: "w2"}},
		{"one more than the set asks for", 0, 0, nil, dispatch.Siblings{}},
	} {
		_, s := groupScope(t, c.groups, groupWorkload(c.index, ""), c.others...)
		if diff := cmp.Diff(c.want, s.observed.Local.Siblings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestASetIsThatOfWhoIsBoundThereOrLeavesItLast(t *testing.T) {
	owing := func(index int, bound string) *kueue.Workload {
		wl := groupWorkload(index, "")
		hubworkload.SetState(wl, dispatch.State{Epoch: 3, Bound: bound, Debts: []dispatch.Debt{{Cluster: "w1", Epoch: 2}}}, metav1.Now().Time)
		return wl
	}
	for _, c := range []struct {
		name   string
		wl     *kueue.Workload
		change func(*workloadScope)
		others []*kueue.Workload
		want   mirror.Share
	}{
		{"one that is bound there", groupWorkload(0, "w1"), nil, []*kueue.Workload{groupWorkload(1, "w1")}, mirror.Share{Concerned: true, Epoch: 1}},
		{"one that has never been there", groupWorkload(0, ""), nil, nil, mirror.Share{Epoch: 1}},
		{"the last that has left", owing(0, ""), nil, []*kueue.Workload{groupWorkload(1, "w2")}, mirror.Share{Concerned: true, Epoch: 2}},
		{"the last that is giving it up", owing(0, "w1"), nil, nil, mirror.Share{Concerned: true, Epoch: 2}},
		{"one that has left others", owing(0, ""), nil, []*kueue.Workload{groupWorkload(1, "w1")}, mirror.Share{}},
		{"one that is giving it up under others", owing(0, "w1"), nil, []*kueue.Workload{groupWorkload(1, "w1")}, mirror.Share{}},
		{"one that has left with others", owing(0, ""), nil, []*kueue.Workload{owing(1, "w1")}, mirror.Share{Concerned: true, Epoch: 2}},
		{"one that is deleted under others", groupWorkload(1, "w1"), func(s *workloadScope) { s.observed.Local.Deleted = true },
			[]*kueue.Workload{groupWorkload(0, "w1")}, mirror.Share{}},
		{"the last that is deleted", groupWorkload(1, "w1"), func(s *workloadScope) { s.observed.Local.Deleted = true }, nil, mirror.Share{Concerned: true, Epoch: 1}},
		{"the last that has finished", groupWorkload(1, "w1"), func(s *workloadScope) { s.observed.Local.Finished = true }, nil, mirror.Share{Concerned: true, Epoch: 1}},
	} {
		_, s := groupScope(t, 2, c.wl, c.others...)
		s.state.Epoch = max(s.state.Epoch, 1)
		if c.change != nil {
			c.change(s)
		}
		if diff := cmp.Diff(c.want, s.originalOn("w1").Share); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestASetIsAnOrphanOnceTheHubHasNoneOfItsWorkloads(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []*kueue.Workload
		want   bool
	}{
		{"none", nil, true},
		{"another group's", []*kueue.Workload{groupWorkload(1, "")}, false},
	} {
		r, s := groupScope(t, 2, groupWorkload(0, "w1"), c.others...)
		if err := r.Client.Delete(t.Context(), s.original.Workload); err != nil {
			t.Fatal(err)
		}
		s.original.Deleted = true
		if err := r.observeOrphanedShare(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := s.originalOn("w1").Share.Concerned; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestAGroupOfAnEarlierSetOfTheNameIsNotCopiedFromThisOne(t *testing.T) {
	kind, wl := leaderworkerset.Mirrored(), groupWorkload(0, "")
	for uid, want := range map[types.UID]bool{"set-uid": true, "another": false} {
		if got := isOwnShare(kind, wl, &lwsv1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{UID: uid}}); got != want {
			t.Errorf("%s: %t", uid, got)
		}
	}
}

func TestANewGroupRequeuesThoseThatWaitForIt(t *testing.T) {
	p := hubworkload.SiblingChanged()
	alone := groupWorkload(0, "")
	delete(alone.Annotations, kueue.ComponentWorkloadIndexAnnotation)
	for _, c := range []struct {
		object  client.Object
		initial bool
		want    bool
	}{{groupWorkload(1, ""), false, true}, {groupWorkload(1, ""), true, false}, {alone, false, false}} {
		if got := p.Create(event.CreateEvent{Object: c.object, IsInInitialList: c.initial}); got != c.want {
			t.Errorf("%v, initial %t: %t", c.object.GetAnnotations(), c.initial, got)
		}
	}
}

// sharedCopy is a set on a worker, made of the hub's set of that UID.
func sharedCopy(namespace, of string) *lwsv1.LeaderWorkerSet {
	set := &lwsv1.LeaderWorkerSet{ObjectMeta: annotatedMeta("serve", kueue.MultiKueueOriginUIDAnnotation, of)}
	set.Namespace = namespace
	return set
}

// The set is filed under its first group, which may have gone before the last.
func TestTheSetOfTheLastGroupIsLookedAtUnderItsFirst(t *testing.T) {
	kind, ok := leaderworkerset.Mirrored().(job.Shared)
	if !ok {
		t.Fatal("groups share nothing")
	}
	own := sharedCopy("team", "set-uid")
	copies := []client.Object{own, sharedCopy("team", "another"), sharedCopy("elsewhere", "set-uid"), sharedCopy("team", "")}
	unlabelled := groupWorkload(1, "")
	unlabelled.Labels = nil
	for _, c := range []struct {
		name string
		gone *kueue.Workload
		want []reconcile.Request
	}{
		{"a group of the set", groupWorkload(1, ""), []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "team", Name: kind.FirstWorkload(own)}}}},
		{"a Workload of nothing", unlabelled, nil},
	} {
		if diff := cmp.Diff(c.want, requestsForCopies(kind, copies, c.gone)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A set bears the UID of no group. That must not keep a hub that has just been started from knowing it.
func TestASetIsKnownByTheGroupUnderWhichItIsFiled(t *testing.T) {
	stamped := func(uid string) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: annotatedMeta("serve-0", switchyard.OwnerUIDAnnotation, uid)}
	}
	orphan := mirror.Original{Kind: leaderworkerset.Mirrored(), Deleted: true}
	single := mirror.Original{Kind: batchJobKind(t), Deleted: true}
	for _, c := range []struct {
		name   string
		orphan mirror.Original
		seen   mirror.Found
		want   bool
	}{
		{"a set and its group", orphan, mirror.Found{Workload: stamped("uid"), Job: sharedCopy("team", "set-uid")}, true},
		{"a set", orphan, mirror.Found{Job: sharedCopy("team", "set-uid")}, true},
		{"a set and another's group", orphan, mirror.Found{Workload: stamped("another"), Job: sharedCopy("team", "set-uid")}, false},
		{"a job that says nothing", single, mirror.Found{Workload: stamped("uid"), Job: sharedCopy("team", "")}, false},
		{"a job of the slice before", single, mirror.Found{Workload: stamped("uid"), Job: stamped("before")}, true},
		{"a copy of the slice before", single, mirror.Found{Workload: stamped("before"), Job: stamped("uid")}, false},
		{"a job of another slice", single, mirror.Found{Workload: stamped("uid"), Job: stamped("another")}, false},
	} {
		if got := isOfWitnessed(tracker.Witnessed{UID: "uid", EarlierSlice: "before"}, c.orphan, c.seen); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
