package controller

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"switchyard.dev/admissioncheck/multikueue/orphans"
	"switchyard.dev/admissioncheck/multikueue/uptime"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const hubUID = "uid-of-the-hub"

// systemNamespaceObject is the namespace by which a cluster is known.
func systemNamespaceObject(uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)}}
}

func readUptimeLease(t *testing.T, server client.Client) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "kueue-system", Name: switchyard.UptimeLease}, lease); err != nil {
		t.Fatal(err)
	}
	return lease
}

// restartWithRecord makes the hub's program one that knows its hub, whose record says that the last program ran until some time ago; meanwhile
// things happen.
func (st *testEnv) restartWithRecord(ago time.Duration, meanwhile ...func()) {
	st.t.Helper()
	st.stop()
	for _, happens := range meanwhile {
		happens()
	}
	past := &uptime.Hub{APIReader: st.hub, Client: st.hub, Namespace: "kueue-system", Clock: clock.RealClock{}}
	st.create(systemNamespaceObject(hubUID))
	if err := past.EnsureRegistered(st.t.Context()); err != nil {
		st.t.Fatal(err)
	}
	lease := readUptimeLease(st.t, st.hub)
	lease.Annotations[switchyard.DowntimesAnnotation] = "/2020-01-01T00:00:00Z"
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-ago)}
	if err := st.hub.Update(st.t.Context(), lease); err != nil {
		st.t.Fatal(err)
	}
	st.hubRecord = &uptime.Hub{APIReader: st.hub, Client: st.hub, Namespace: "kueue-system", Clock: clock.RealClock{}}
	st.restart(st.policy)
	st.waitConnected()
}

// createOrphan puts a copy on a worker that a hub has made some time ago, with a job that has taken it up if it runs.
func (st *testEnv) createOrphan(worker, hub string, ago time.Duration, runs bool) {
	st.t.Helper()
	notes := map[string]string{switchyard.EpochAnnotation: "1", switchyard.OwnerUIDAnnotation: "uid-then"}
	if hub != "" {
		notes[switchyard.HubUIDAnnotation] = hub
	}
	made := metav1.ObjectMeta{
		Namespace: workloadKey().Namespace, Name: workloadKey().Name, Annotations: notes, Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
		CreationTimestamp: metav1.NewTime(time.Now().Add(-ago).Truncate(time.Second)),
	}
	wl := &kueue.Workload{ObjectMeta: made}
	objects := []client.Object{wl}
	if runs {
		wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: jobKey().Name, UID: "u", Controller: ptr.To(true)}}
		of := *made.DeepCopy()
		of.Name, of.Labels[kueue.PrebuiltWorkloadNameKey] = jobKey().Name, workloadKey().Name
		objects = append(objects, &batchv1.Job{ObjectMeta: of})
	}
	for _, obj := range objects {
		if err := st.workers[worker].Create(st.t.Context(), obj); err != nil {
			st.t.Fatal(err)
		}
	}
}

// reportOrphans reports on the orphans and returns the condition of a cluster and how many of a reason were counted.
func (st *testEnv) reportOrphans(worker, reason string) (*metav1.Condition, float64) {
	st.t.Helper()
	o := &orphans.Reporter{
		Client: st.hub, Finder: st.reconciler.orphans, Fleet: st.fleet, Kinds: FleetKinds(st.reconciler.Kinds, &JobNameLookup{Reconciler: st.reconciler}),
		Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{},
	}
	if err := o.ReportAll(st.t.Context()); err != nil {
		st.t.Fatal(err)
	}
	cluster := &kueue.MultiKueueCluster{}
	if err := st.hub.Get(st.t.Context(), client.ObjectKey{Name: worker}, cluster); err != nil {
		st.t.Fatal(err)
	}
	return meta.FindStatusCondition(cluster.Status.Conditions, switchyard.OrphansCondition), testutil.ToFloat64(orphans.Gauge.WithLabelValues(worker, reason))
}

// waitOrphanReason waits until the condition of a worker has a reason.
func (st *testEnv) waitOrphanReason(worker, reason string) *metav1.Condition {
	st.t.Helper()
	var c *metav1.Condition
	st.eventually(worker+" is reported as "+reason, func() bool {
		c, _ = st.reportOrphans(worker, reason)
		return c != nil && c.Reason == reason
	})
	return c
}

// expectKept makes sure that nothing is removed from a worker, though the hub has looked at it.
func (st *testEnv) expectKept(worker string) {
	st.t.Helper()
	st.queue.Add(reconcile.Request{NamespacedName: workloadKey()})
	if s, err := st.reconciler.observe(st.t.Context(), workloadKey()); s != nil || err != nil {
		st.t.Errorf("there is something to decide: %+v, %v", s, err)
	}
	if st.copyOn(worker) == nil || st.jobOn(worker) == nil {
		st.t.Errorf("what runs on %s was removed", worker)
	}
}

// waitClean waits until nothing is left on a worker.
func (st *testEnv) waitClean(worker string) {
	st.t.Helper()
	st.eventually("nothing is left on "+worker, func() bool { return st.copyOn(worker) == nil && st.jobOn(worker) == nil })
}

const anotherHub = "uid-of-another-hub"

func TestAnotherHubsJobsAreReportedAndNeverRemoved(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(time.Second, func() { st.createOrphan("w1", anotherHub, 24*time.Hour, true) })
	c := st.waitOrphanReason("w1", orphans.ReasonOtherHub)
	if want := "1 of another hub, " + anotherHub + " (team/job-train)"; c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, want) {
		t.Errorf("the condition is %+v, want it to say %q", c, want)
	}
	if _, count := st.reportOrphans("w1", orphans.ReasonOtherHub); count != 1 {
		t.Errorf("%v are counted", count)
	}
	st.expectKept("w1")
}

// A name that another hub's job bears is taken: it is neither removed for the sake of ours nor are its status and result ours.
func TestAnotherHubsJobOfTheSameNameIsNotOurs(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.restartWithRecord(time.Second)
	st.createOrphan("w1", anotherHub, time.Hour, true)
	st.setConditionOn("w1", kueue.WorkloadFinished, "Succeeded", "forged")
	st.submit()
	st.runOn("w2")
	if st.hubWorkload().Status.ClusterName == nil || *st.hubWorkload().Status.ClusterName != "w2" {
		t.Errorf("bound to %v", st.hubWorkload().Status.ClusterName)
	}
	if st.copyOn("w1") == nil || st.jobOn("w1") == nil {
		t.Error("another hub's job was removed")
	}
	if meta.IsStatusConditionTrue(st.hubWorkload().Status.Conditions, kueue.WorkloadFinished) {
		t.Error("another hub's result was taken for ours")
	}
}

func TestWhatAFormerHubLeftGoesWhenAPersonAdoptsAndDiscardsIt(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(time.Second, func() { st.createOrphan("w1", anotherHub, 24*time.Hour, true) })
	st.waitOrphanReason("w1", orphans.ReasonOtherHub)
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.AdoptHubsAnnotation, "somebody, "+anotherHub)
	st.waitOrphanReason("w1", orphans.ReasonNoRecord)
	st.expectKept("w1")
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DiscardOrphansAnnotation, time.Now().Add(-48*time.Hour).Format(time.RFC3339))
	st.waitOrphanReason("w1", orphans.ReasonNoRecord)
	st.expectKept("w1")
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DiscardOrphansAnnotation, time.Now().Format(time.RFC3339))
	st.waitOrphanReason("w1", orphans.ReasonNone)
	st.waitClean("w1")
}

// The hub's etcd was put back to what it was two hours ago; the job was made since.
func TestAJobThatARestoredHubKnowsNothingOfIsKeptUntilAPersonDiscardsIt(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(2*time.Hour, func() { st.createOrphan("w1", hubUID, time.Hour, true) })
	c := st.waitOrphanReason("w1", orphans.ReasonNoRecord)
	if want := "1 of a time that this hub has no record of (team/job-train)"; !strings.Contains(c.Message, want) {
		t.Errorf("the condition says %q, want %q", c.Message, want)
	}
	st.expectKept("w1")
	st.restart(st.policy) // who begins a second time still knows
	st.waitConnected()
	st.waitOrphanReason("w1", orphans.ReasonNoRecord)
	st.expectKept("w1")
	st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.DiscardOrphansAnnotation, time.Now().Format(time.RFC3339))
	st.waitOrphanReason("w1", orphans.ReasonNone)
	st.waitClean("w1")
}

func TestOrphansFromRecordedTimesAreRemovedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		hub  string
		made time.Duration
		runs bool
	}{
		"a job made while a program of this hub ran":        {hub: hubUID, made: 3 * time.Hour, runs: true},
		"an offer of the time without record: it runs none": {hub: hubUID, made: time.Hour},
		"a job of a program that knows no identities":       {made: time.Hour, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newTestEnv(t, "w1")
			st.restartWithRecord(2*time.Hour, func() { st.createOrphan("w1", tc.hub, tc.made, tc.runs) })
			st.waitClean("w1")
			if c, _ := st.reportOrphans("w1", orphans.ReasonNoRecord); c != nil {
				t.Errorf("reported: %+v", c)
			}
		})
	}
}

// A Workload that is deleted while this program looks is swept, also if the copy is of the last moments of the program before
// it.
func TestCopiesOfAnObservedDeletionAreRemovedWheneverTheyWereMade(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(time.Second)
	st.workers["w1"].setCreationTime(time.Now())
	st.submit()
	st.runOn("w1")
	if seen := st.copyOn("w1"); seen.CreationTimestamp.IsZero() || !st.hubRecord.IsUnrecorded(seen.CreationTimestamp.Time) {
		t.Fatalf("the copy is of %v, which is on record", seen.CreationTimestamp)
	}
	st.eventually("the hub sees the job", func() bool {
		seen, _ := st.fleet.Get("w1", batchJobKind(t).GVK(), jobKey())
		return seen != nil
	})
	for _, obj := range []client.Object{st.hubJob(), st.hubWorkload()} {
		if err := st.hub.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	st.waitClean("w1")
}

// The job of an elastic job's slices bears the UID of the slice that it was made for, which is not that of the last one.
func TestTheJobOfAnObservedSliceIsRemovedThoughItWasMadeForAnEarlierOne(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(time.Second)
	st.workers["w1"].setCreationTime(time.Now())
	st.enqueue()
	elastic := map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "job-train-first"}
	wl := st.hubWorkload()
	wl.Annotations = elastic
	if err := st.hub.Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	st.reserveQuota()
	st.runOn("w1")
	ran := st.jobOn("w1")
	maps.Copy(ran.Annotations, elastic)
	ran.Annotations[switchyard.OwnerUIDAnnotation] = "uid-of-the-first"
	if err := st.workers["w1"].Update(t.Context(), ran); err != nil {
		t.Fatal(err)
	}
	st.eventually("the hub has looked at the job", func() bool {
		seen, _ := st.fleet.Get("w1", batchJobKind(t).GVK(), jobKey())
		if seen == nil || seen.GetAnnotations()[switchyard.OwnerUIDAnnotation] != "uid-of-the-first" {
			return false
		}
		_, err := st.reconciler.observe(t.Context(), workloadKey())
		return err == nil
	})
	for _, obj := range []client.Object{st.hubJob(), st.hubWorkload()} {
		if err := st.hub.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	st.waitClean("w1")
}

func TestARestoredAPIServerStopsRemovals(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.restartWithRecord(2 * time.Hour)
	if err := st.hubRecord.EnsureRegistered(t.Context()); err != nil {
		t.Fatal(err)
	}
	lease := readUptimeLease(t, st.hub)
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-2 * time.Hour)}
	if err := st.hub.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	st.createOrphan("w1", hubUID, 3*time.Hour, true)
	st.eventually("the hub finds out", func() bool { return st.hubRecord.EnsureRegistered(t.Context()) != nil })
	if st.jobOn("w1") == nil {
		t.Error("a job was removed on the word of a hub that was put back")
	}
}
