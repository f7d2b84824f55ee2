package controller

import (
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// reconcileIdentity reports on the identity of a cluster and returns the condition.
func (st *testEnv) reconcileIdentity(cluster string) metav1.Condition {
	st.t.Helper()
	r := &IdentityReconciler{Client: st.hub, Reconciler: st.reconciler, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{}}
	if _, err := r.Reconcile(st.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: cluster}}); err != nil {
		st.t.Fatal(err)
	}
	found := &kueue.MultiKueueCluster{}
	if err := st.hub.Get(st.t.Context(), client.ObjectKey{Name: cluster}, found); err != nil {
		st.t.Fatal(err)
	}
	if c := meta.FindStatusCondition(found.Status.Conditions, switchyard.IdentityCondition); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// assignIdentities gives the workers an identity each, which the hub reads and keeps.
func (st *testEnv) assignIdentities() {
	st.t.Helper()
	for _, s := range st.workers {
		if err := s.Create(st.t.Context(), systemNamespaceObject("")); err != nil {
			st.t.Fatal(err)
		}
	}
	st.restart(st.policy)
	st.waitConnected()
	for name := range st.workers {
		state, _ := st.fleet.State(name)
		if c := st.reconcileIdentity(name); c.Status != metav1.ConditionTrue || c.Message != string(state.Identity) || c.Message == "" {
			st.t.Fatalf("the hub knows %s as %+v", name, c)
		}
	}
}

// replaceCluster lets the credentials of a cluster lead to another one, which has nothing of ours.
func (st *testEnv) replaceCluster(cluster string) {
	st.t.Helper()
	st.fleet.Disconnect(cluster, errors.New("the Secret is gone"))
	st.eventually(cluster+" is let go", func() bool { s, _ := st.fleet.State(cluster); return !s.Connected })
	server := st.workers[cluster]
	for _, obj := range []client.Object{&batchv1.Job{}, &kueue.Workload{}} {
		if err := server.DeleteAllOf(st.t.Context(), obj, client.InNamespace(workloadKey().Namespace)); err != nil {
			st.t.Fatal(err)
		}
	}
	if err := errors.Join(client.IgnoreNotFound(server.Delete(st.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})),
		server.Create(st.t.Context(), systemNamespaceObject(""))); err != nil {
		st.t.Fatal(err)
	}
	st.fleet.Connect(cluster, fleet.Credentials{Config: &rest.Config{Host: cluster}, Fingerprint: "another"})
	st.eventually(cluster+" is connected", func() bool { s, _ := st.fleet.State(cluster); return s.Connected && s.Fingerprint == "another" })
}

func (st *testEnv) setRunPolicy(policy switchyard.RunPolicy) {
	st.t.Helper()
	st.annotate(&kueue.MultiKueueConfig{}, "config", switchyard.RunPolicyAnnotation, string(policy))
}

func (st *testEnv) boundCluster() string {
	if name := st.hubWorkload().Status.ClusterName; name != nil {
		return *name
	}
	return ""
}

func TestAClusterInThePlaceOfAnotherDoesNotAnswerForItUntilThatIsDeclaredGone(t *testing.T) {
	for _, policy := range []switchyard.RunPolicy{switchyard.NeverLose, switchyard.RunOnce} {
		t.Run(string(policy), func(t *testing.T) {
			st := newTestEnv(t, "w1", "w2")
			st.setRunPolicy(policy)
			st.assignIdentities()
			first := st.reconcileIdentity("w1").Message
			st.submit()
			st.runOn("w1")
			st.replaceCluster("w1")
			for range 5 { // each look is another chance to believe the new one
				c := st.reconcileIdentity("w1")
				if c.Status != metav1.ConditionFalse || c.Reason != reasonOtherCluster || !strings.HasPrefix(c.Message, first+";") {
					t.Fatalf("the condition is %+v", c)
				}
				if s, err := st.reconciler.observe(t.Context(), workloadKey()); err != nil || s.observed.Clusters[0].Link.State != dispatch.Unreachable {
					t.Fatalf("seen as %+v, %v", s, err)
				}
			}
			if st.boundCluster() != "w1" || st.jobOn("w2") != nil || st.jobOn("w1") != nil {
				t.Fatalf("bound to %q, job on w2: %v", st.boundCluster(), st.jobOn("w2"))
			}
			if st.reconciler.IsLeaseNeeded("w1") {
				t.Error("the lease is renewed on the new one, as if the one before heard of it")
			}
			st.annotate(&kueue.MultiKueueCluster{}, "w1", switchyard.GoneAnnotation, "true")
			st.enqueueAll()
			st.eventually("w1 is given up", func() bool { return st.checkState().State == kueue.CheckStateRetry })
			st.evictAndRelease(string(kueue.ReasonAdmissionCheck))
			st.reserveQuota()
			st.runOn("w2")
			st.eventually("the new cluster is taken for what it is", func() bool {
				c := st.reconcileIdentity("w1")
				return c.Status == metav1.ConditionTrue && c.Message != first
			})
		})
	}
}

func TestUnderTheCompatiblePolicyReplacingTheSecretIsAllThereIsToDo(t *testing.T) {
	st := newTestEnv(t, "w1", "w2")
	st.assignIdentities()
	first := st.reconcileIdentity("w1").Message
	st.submit()
	st.runOn("w1")
	st.replaceCluster("w1")
	if s, err := st.reconciler.observe(t.Context(), workloadKey()); err != nil || s.observed.Clusters[0].Link.State != dispatch.Connected {
		t.Fatalf("seen as %+v, %v", s, err)
	}
	if c := st.reconcileIdentity("w1"); c.Status != metav1.ConditionTrue || c.Message == first {
		t.Errorf("the condition is %+v", c)
	}
}

func TestAClusterThatDoesNotSayWhoItIsIsTreatedAsBefore(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.setRunPolicy(switchyard.NeverLose)
	c := st.reconcileIdentity("w1")
	if c.Status != metav1.ConditionUnknown || c.Reason != reasonNotPermitted || !strings.HasPrefix(c.Message, unknownIdentity+";") {
		t.Errorf("the condition is %+v", c)
	}
	st.submit()
	st.runOn("w1")
	st.replaceCluster("w1")
	if s, err := st.reconciler.observe(t.Context(), workloadKey()); err != nil || s.observed.Clusters[0].Link.State != dispatch.Connected {
		t.Fatalf("seen as %+v, %v", s, err)
	}
}

func TestWhichClusterItIsIsKeptWhenItDoesNotSayItAnyMore(t *testing.T) {
	c := identityCondition("uid-1", fleet.State{IdentityError: "forbidden"}, false)
	again := &kueue.MultiKueueCluster{Status: kueue.MultiKueueClusterStatus{Conditions: []metav1.Condition{c}}}
	if c.Status != metav1.ConditionUnknown || recordedIdentity(again) != "uid-1" {
		t.Errorf("got %+v", c)
	}
}
