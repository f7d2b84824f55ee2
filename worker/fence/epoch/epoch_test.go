package epoch

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// made is the metadata of what a hub has made for its Workload with a UID in an epoch; none for 0.
func made(name, owner string, epoch int) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(fmt.Sprint(name, owner, epoch)), Labels: map[string]string{kueue.MultiKueueOriginLabel: "eu"},
		Annotations: map[string]string{switchyard.OwnerUIDAnnotation: owner},
	}
	if epoch > 0 {
		m.Annotations[switchyard.EpochAnnotation] = strconv.Itoa(epoch)
	}
	return m
}

func wl(name, owner string, epoch int) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: made(name, owner, epoch)}
}

// A stamp that no hub has made must not make the worker refuse what the hub makes next.
func TestAStampThatNobodyCanHaveCountedIsNoLaterEpoch(t *testing.T) {
	for _, stamp := range []string{"9007199254740993", "9223372036854775807", "99999999999999999999", "-1"} {
		forged := wl("w", "u", 0)
		forged.Annotations[switchyard.EpochAnnotation] = stamp
		if Read(forged) != 1 || IsBefore(wl("w", "u", 2), forged) {
			t.Errorf("%s is epoch %d", stamp, Read(forged))
		}
	}
}

func TestAnUpdateChangesNothingThatAHubGoesBy(t *testing.T) {
	local := wl("w", "u", 3)
	local.Labels = nil
	relabelled, renamed := wl("w", "u", 3), wl("w", "u", 3)
	relabelled.Labels, renamed.Labels = nil, map[string]string{kueue.MultiKueueOriginLabel: "us"}
	annotated := func(name, value string) *kueue.Workload {
		made := wl("w", "u", 3)
		made.Annotations[name] = value
		return made
	}
	odd := wl("w", "u", 0)
	odd.Annotations[switchyard.EpochAnnotation] = "-7"
	for _, c := range []struct {
		name    string
		old, is *kueue.Workload
		refused bool
	}{
		{"the same", wl("w", "u", 3), wl("w", "u", 3), false},
		{"a later one", wl("w", "u", 3), wl("w", "u", 4), true},
		{"the origin is taken away", wl("w", "u", 3), relabelled, true},
		{"another origin", wl("w", "u", 3), renamed, true},
		{"an origin is put on what no hub has made", relabelled, wl("w", "u", 3), true},
		{"another owner", wl("w", "u", 3), wl("w", "v", 3), true},
		{"another hub", wl("w", "u", 3), annotated(switchyard.HubUIDAnnotation, "hub-b"), true},
		{"it is to run on without its hub", annotated(switchyard.OnHubLostAnnotation, string(switchyard.Stop)), wl("w", "u", 3), true},
		{"another note", wl("w", "u", 3), annotated("example.com/note", "x"), false},
		{"no owner any more", wl("w", "u", 3), wl("w", "", 3), true},
		{"an earlier one", wl("w", "u", 3), wl("w", "u", 2), true},
		{"none any more", wl("w", "u", 3), wl("w", "u", 0), true},
		{"none in the first epoch, by a hub that knows none", wl("w", "u", 1), wl("w", "u", 0), false},
		{"one that is no epoch", wl("w", "u", 3), odd, true},
		{"the origin and the epoch are taken away", wl("w", "u", 3), &kueue.Workload{}, true},
		{"what no hub has made", local, local, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := ValidateUpdate(c.old, c.is); (err != nil) != c.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}

// watching is a memory that sees these Workloads.
func watching(t *testing.T, objects ...client.Object) (*Cache, toolscache.ResourceEventHandler) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := NewCache(3)
	m.reader = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	m.synced = func() bool { return true }
	return m, m.handler()
}

func TestWhatIsOlderThanWhatWasSeenIsNotMade(t *testing.T) {
	local := wl("w", "u", 1)
	local.Labels = nil
	job := func(epoch int) client.Object { return &batchv1.Job{ObjectMeta: made("job", "u", epoch)} }
	for _, c := range []struct {
		name    string
		there   []client.Object
		gone    []*kueue.Workload
		make    client.Object
		refused string
	}{
		{"something new", nil, nil, wl("w", "u", 1), ""},
		{"the epoch of one that is gone", nil, []*kueue.Workload{wl("w", "u", 3)}, wl("w", "u", 3), ""},
		{"a later epoch", nil, []*kueue.Workload{wl("w", "u", 3)}, wl("w", "u", 4), ""},
		{"an earlier epoch", nil, []*kueue.Workload{wl("w", "u", 3)}, wl("w", "u", 2), "epoch 2 is over: the hub has been in epoch 3 here"},
		{"one without epoch", nil, []*kueue.Workload{wl("w", "u", 3)}, wl("w", "u", 0), "epoch 1 is over"},
		{"an epoch before the last but one", nil, []*kueue.Workload{wl("w", "u", 3), wl("w", "u", 2)}, wl("w", "u", 2), "epoch 2 is over"},
		{"the first epoch for another Workload of the hub", nil, []*kueue.Workload{wl("w", "u", 3)}, wl("w", "v", 1), ""},
		{"what no hub makes", nil, []*kueue.Workload{wl("w", "u", 3)}, local, ""},
		{"while a later one is there", []client.Object{wl("w", "u", 3)}, nil, wl("w", "u", 2), "epoch 2 is over"},
		{"while one of another Workload of the hub is there", []client.Object{wl("w", "v", 3)}, nil, wl("w", "u", 2), ""},
		{"a job for a later Workload", []client.Object{wl("w", "u", 3)}, nil, job(2), "epoch 2 is over"},
		{"a job for its Workload", []client.Object{wl("w", "u", 3)}, nil, job(3), ""},
		{"a job for the Workload of another", []client.Object{wl("w", "v", 3)}, nil, job(3), "is that of another Workload of a hub"},
		{"a job for a Workload that does not say whose it is", []client.Object{wl("w", "", 3)}, nil, job(3), ""},
		{"a job for a Workload that no hub has made", []client.Object{local}, nil, job(3), ""},
		{"a job for a Workload that is gone", nil, []*kueue.Workload{wl("w", "u", 3)}, job(2), "epoch 2 is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, handler := watching(t, c.there...)
			for _, gone := range c.gone {
				handler.OnDelete(gone)
			}
			err := m.ValidateCreate(t.Context(), c.make, "w")
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatIsGoneIsLearntFromEverySign(t *testing.T) {
	for name, happens := range map[string]func(toolscache.ResourceEventHandler){
		"a deletion": func(h toolscache.ResourceEventHandler) { h.OnDelete(wl("w", "u", 3)) },
		"a deletion that was late": func(h toolscache.ResourceEventHandler) {
			h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: wl("w", "u", 3)})
		},
		"another of the name": func(h toolscache.ResourceEventHandler) { h.OnUpdate(wl("w", "u", 3), wl("w", "v", 1)) },
	} {
		m, handler := watching(t)
		happens(handler)
		if m.ValidateCreate(t.Context(), wl("w", "u", 2), "w") == nil {
			t.Errorf("not from %s", name)
		}
	}
	m, handler := watching(t)
	handler.OnUpdate(wl("w", "u", 3), wl("w", "u", 3))
	handler.OnDelete(wl("w", "u", 1))
	if n := m.deleted.Len(); n > 0 {
		t.Errorf("remembers %d", n)
	}
}

func TestTheOldestIsForgottenFirst(t *testing.T) {
	m, handler := watching(t)
	for i := range 4 {
		handler.OnDelete(wl(fmt.Sprint(i), "u", 3))
	}
	handler.OnDelete(wl("1", "u", 2)) // and keeps what it knew better
	for name, refused := range map[string]bool{"0": false, "1": true, "2": true, "3": true} {
		if got := m.ValidateCreate(t.Context(), wl(name, "u", 2), name) != nil; got != refused {
			t.Errorf("%s: refused %v", name, got)
		}
	}
}

func TestAMemoryThatWatchesNothingRefusesNothing(t *testing.T) {
	if err := NewCache(1).ValidateCreate(t.Context(), wl("w", "u", 1), "w"); err != nil {
		t.Error(err)
	}
}

func TestTheMemoryLearnsFromTheInformersOfACache(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kueue.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	informers := &informertest.FakeInformers{Scheme: scheme}
	informer, err := informers.FakeInformerFor(t.Context(), &kueue.Workload{})
	if err != nil {
		t.Fatal(err)
	}
	m := NewCache(1)
	if err := m.Watch(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	informer.Delete(wl("w", "u", 3))
	if err := m.ValidateCreate(t.Context(), wl("w", "u", 2), "w"); err == nil {
		t.Error("nothing learnt")
	}
}

func TestOfTwoObjectsOfOneWorkloadOneMayBeBeforeTheOther(t *testing.T) {
	if !IsBefore(wl("a", "u", 2), wl("b", "u", 3)) || IsBefore(wl("a", "u", 3), wl("b", "u", 3)) || IsBefore(wl("a", "v", 2), wl("b", "u", 3)) ||
		IsBefore(&kueue.Workload{}, wl("b", "u", 3)) {
		t.Error("wrong order")
	}
}

func TestSlicesOfOneJobAreRelated(t *testing.T) {
	of := func(chain string, made *kueue.Workload) *kueue.Workload {
		made.Annotations[kueue.WorkloadSliceNameAnnotation] = chain
		return made
	}
	job, next := of("a", wl("a", "u", 2)), of("a", wl("b", "v", 2))
	if AreUnrelated(job, next) || IsBefore(job, next) {
		t.Error("a job may not take up the copy of its next slice")
	}
	if later := of("a", wl("b", "v", 3)); !IsBefore(job, later) || IsBefore(later, job) {
		t.Error("a job of an earlier epoch may take up the copy of a later slice")
	}
	if other := of("c", wl("c", "v", 3)); !AreUnrelated(job, other) || IsBefore(job, other) || !AreUnrelated(wl("a", "u", 2), wl("b", "v", 2)) {
		t.Error("slices of different jobs are related")
	}
}
