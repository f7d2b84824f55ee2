package lifecycle

import (
	"strings"
	"testing"
	"time"

	"switchyard.dev/worker/admission"
)

// A story is a state, what is observed then, and what becomes of the workload.
type scenario struct {
	name     string
	initial  State
	observed Observation
	want     string
	events   []admission.Reason
	check    func(*testing.T, Plan)
}

func (s scenario) run(t *testing.T) {
	t.Helper()
	t.Run(s.name, func(t *testing.T) {
		plan := Step(s.initial, s.observed)
		if got := stateText(plan.Next); got != s.want {
			t.Errorf("state:\n%swant:\n%s", got, s.want)
		}
		if got := eventReasons(plan.Events); !equalReasons(got, s.events) {
			t.Errorf("told %q, want %q", got, s.events)
		}
		if s.check != nil {
			s.check(t, plan)
		}
		if again := Step(plan.Next, s.observed); !again.Next.Equal(plan.Next) {
			t.Errorf("a second step changes:\n%sto:\n%s", stateText(plan.Next), stateText(again.Next))
		}
	})
}

func equalReasons(a, b []admission.Reason) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestAdmission(t *testing.T) {
	for _, s := range []scenario{
		{
			name:    "a workload that waits for quota is left to the scheduling cycle",
			initial: queuedState(), observed: openObservation(5), want: "",
		},
		{
			name:    "a reservation without checks is an admission, in the same write",
			initial: reservedState(0), observed: openObservation(5),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +0s\nholds quota in cq\n",
		},
		{
			name:    "a check that has not answered keeps the workload from being admitted",
			initial: reservedState(0, "a"), observed: openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a"} }),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +0s\ncheck a Pending retries=0 \"\"\nholds quota in cq\n",
		},
		{
			name:     "the last check that becomes ready admits the workload",
			initial:  reservedState(0, "a", "b").withCheckState("a", CheckReady, "", 1).withCheckState("b", CheckReady, "", 2),
			observed: openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a", "b"} }),
			want:     "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +5s\ncheck a Ready retries=0 \"\"\ncheck b Ready retries=0 \"\"\nholds quota in cq\n",
			events:   []admission.Reason{"Admitted"},
		},
		{
			name:    "a check that the queue asks for from now on ends the admission and its time counts",
			initial: reservedState(0), observed: openObservation(30).withChange(func(o *Observation) { o.Checks = []string{"new"} }),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +30s\ncheck new Pending retries=0 \"\"\nholds quota in cq\npast execution 30s\n",
		},
		{
			name:    "a check that the queue does not ask for any more stands in nobody's way",
			initial: reservedState(0, "old"), observed: openObservation(5),
			want:   "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +5s\nholds quota in cq\n",
			events: []admission.Reason{"Admitted"},
		},
		{
			name:     "while the ClusterQueue is missing nobody knows which checks apply",
			initial:  reservedState(0, "a").withCheckState("a", CheckReady, "", 1),
			observed: openObservation(5).withChange(func(o *Observation) { o.ClusterQueue = Queue{Name: "cq"} }),
			want:     "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +5s\ncheck a Ready retries=0 \"\"\nholds quota in cq\n",
			events:   []admission.Reason{"Admitted"},
		},
		{
			name:    "places still to be computed keep the workload from being admitted",
			initial: Reserve(queuedState(), Reservation{ClusterQueue: "cq", DelayedTopology: true}, nil, "", at(0)), observed: openObservation(5),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False PendingDelayedTopologyRequests +0s\nholds quota in cq\n",
		},
	} {
		s.run(t)
	}
}

func TestRetry(t *testing.T) {
	asksRetry := reservedState(0, "a", "b").withCheckState("a", CheckReady, "", 1).withCheckState("b", CheckRetry, "no nodes", 10)
	asksRetry.Checks[1].RequeueAfter = time.Minute
	asksRetry.Cluster = "w1"
	sees := func(seconds int) Observation {
		return openObservation(seconds).withChange(func(o *Observation) { o.Checks = []string{"a", "b"} })
	}
	evicted := Step(asksRetry, sees(12)).Next
	released := Release(evicted, at(20))
	const checksReset = "check a Pending retries=0 \"Reset to Pending after eviction. Previously: Ready\"\n" +
		"check b Pending retries=1 \"Reset to Pending after eviction. Previously: Retry\"\n"
	for _, s := range []scenario{
		{
			name:    "a check that asks for a retry evicts the workload and all checks begin anew",
			initial: asksRetry, observed: sees(12),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +0s\nEvicted=True AdmissionCheck +12s\n" +
				checksReset + "holds quota in cq\ncluster \"w1\" nominated []\nrequeue at +70s\nevicted 1 times for AdmissionCheck \n",
			events: []admission.Reason{"EvictedDueToAdmissionCheck"},
			check: func(t *testing.T, p Plan) {
				t.Helper()
				c, _ := p.Next.Condition(Evicted)
				if want := "Evicted due to AdmissionCheck in Retry state: \"b\" (no nodes)"; c.Message != want {
					t.Errorf("message %q, want %q", c.Message, want)
				}
			},
		},
		{
			name:    "a job that still runs keeps the quota and the cluster of its evicted workload",
			initial: evicted, observed: sees(15),
			want: stateText(evicted),
		},
		{
			name:    "checks that answer while the job stops do not admit the workload again",
			initial: evicted.withCheckState("a", CheckReady, "", 13).withCheckState("b", CheckReady, "", 13), observed: sees(15),
			want: stateText(evicted.withCheckState("a", CheckReady, "", 13).withCheckState("b", CheckReady, "", 13)),
		},
		{
			name:    "a workload without owner releases its quota in the write that evicts it",
			initial: asksRetry, observed: sees(12).withChange(func(o *Observation) { o.Owned = false }),
			want: "QuotaReserved=False PendingEvaluation +12s\nAdmitted=False NoReservation +0s\nEvicted=True AdmissionCheck +12s\n" +
				"Requeued=False AdmissionCheck +12s\n" + checksReset + "requeue at +70s\nevicted 1 times for AdmissionCheck \n",
			events: []admission.Reason{"EvictedDueToAdmissionCheck"},
		},
		{
			name:    "after the release the workload waits for the delay that the check asked for",
			initial: released, observed: sees(30), want: stateText(released),
			check: func(t *testing.T, p Plan) {
				t.Helper()
				if !p.RecheckAt.Equal(at(70)) {
					t.Errorf("wakes at %v, want %v", p.RecheckAt, at(70))
				}
			},
		},
		{
			name:    "when the delay is over the workload queues again",
			initial: released, observed: sees(70),
			want: "QuotaReserved=False PendingEvaluation +20s\nAdmitted=False NoReservation +0s\nEvicted=True AdmissionCheck +12s\n" +
				"Requeued=True BackoffFinished +70s\n" + checksReset + "evicted 1 times for AdmissionCheck \n",
		},
	} {
		s.run(t)
	}
	t.Run("without a delay the release itself lets the workload queue again", func(t *testing.T) {
		now := reservedState(0, "a").withCheckState("a", CheckRetry, "", 3)
		got := Release(Step(now, sees(5).withChange(func(o *Observation) { o.Checks = []string{"a"} })).Next, at(9))
		if c, _ := got.Condition(Requeued); c.Status != True || c.Reason != RequeuedBackoffFinished {
			t.Errorf("Requeued is %v %v", c.Status, c.Reason)
		}
	})
}

func TestRejection(t *testing.T) {
	rejects := reservedState(0, "a").withCheckState("a", CheckRejected, "never", 1)
	sees := openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a"} })
	asked := Step(rejects, sees).Next
	for _, s := range []scenario{
		{
			name:    "a check that rejects asks for the deactivation of the workload",
			initial: rejects, observed: sees,
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +0s\nDeactivationTarget=True AdmissionCheck +5s\n" +
				"check a Rejected retries=0 \"never\"\nholds quota in cq\n",
			events: []admission.Reason{"AdmissionCheckRejected"},
			check: func(t *testing.T, p Plan) {
				t.Helper()
				if p.Deactivate {
					t.Error("acts before the request is stored")
				}
			},
		},
		{
			name:    "a stored request sets spec.active to false and nothing else",
			initial: asked, observed: sees, want: stateText(asked),
			check: func(t *testing.T, p Plan) {
				t.Helper()
				if !p.Deactivate {
					t.Error("does not deactivate")
				}
			},
		},
		{
			name:    "the deactivated workload is evicted for the cause and the request is gone",
			initial: deactivatedState(asked), observed: sees,
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +0s\nEvicted=True DeactivatedDueToAdmissionCheck +5s\n" +
				"check a Pending retries=0 \"Reset to Pending after eviction. Previously: Rejected\"\nholds quota in cq\nevicted 1 times for Deactivated AdmissionCheck\n",
			events: []admission.Reason{"EvictedDueToDeactivatedDueToAdmissionCheck"},
		},
		{
			name:    "a request from outside names its cause",
			initial: deactivatedState(reservedState(0).withCondition(DeactivationTarget, True, "EvictedOnManagerCluster", "hub", at(3))), observed: openObservation(5),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +0s\nEvicted=True DeactivatedDueToEvictedOnManagerCluster +5s\n" +
				"holds quota in cq\nevicted 1 times for Deactivated EvictedOnManagerCluster\n",
			events: []admission.Reason{"EvictedDueToDeactivatedDueToEvictedOnManagerCluster"},
		},
		{
			name:     "a reject beats a retry",
			initial:  reservedState(0, "a", "b").withCheckState("a", CheckRetry, "", 1).withCheckState("b", CheckRejected, "", 1),
			observed: openObservation(5).withChange(func(o *Observation) { o.Checks = []string{"a", "b"} }),
			want: "QuotaReserved=True QuotaReserved +0s\nAdmitted=False UnsatisfiedAdmissionChecks +0s\nDeactivationTarget=True AdmissionCheck +5s\n" +
				"check a Retry retries=0 \"\"\ncheck b Rejected retries=0 \"\"\nholds quota in cq\n",
			events: []admission.Reason{"AdmissionCheckRejected"},
		},
	} {
		s.run(t)
	}
}

func deactivatedState(s State) State {
	s.Active = false
	return s
}

func TestActive(t *testing.T) {
	off := Step(deactivatedState(queuedState()), openObservation(5)).Next
	back := off
	back.Active = true
	stopping := Step(deactivatedState(reservedState(0)), openObservation(40)).Next
	changedMind := stopping
	changedMind.Active = true
	again := Step(back, openObservation(9)).Next
	for _, s := range []scenario{
		{
			name:    "a waiting workload that is deactivated says so and waits for its reactivation",
			initial: deactivatedState(queuedState()), observed: openObservation(5),
			want: "Evicted=True Deactivated +5s\nQuotaReserved=False Deactivated +5s\nAdmitted=False NoReservation +5s\nevicted 1 times for Deactivated \n",
		},
		{
			name:    "a reactivated workload queues again",
			initial: back, observed: openObservation(9),
			want: "Evicted=True Deactivated +5s\nQuotaReserved=False PendingEvaluation +5s\nAdmitted=False NoReservation +5s\nevicted 1 times for Deactivated \n",
		},
		{
			name:    "a second deactivation counts only after a reservation",
			initial: deactivatedState(again), observed: openObservation(12),
			want: "Evicted=True Deactivated +5s\nQuotaReserved=False Deactivated +5s\nAdmitted=False NoReservation +5s\nevicted 1 times for Deactivated \n",
		},
		{
			name:    "a running workload that is deactivated stays admitted until its job has stopped",
			initial: deactivatedState(reservedState(0)), observed: openObservation(40),
			want:   "QuotaReserved=True QuotaReserved +0s\nAdmitted=True Admitted +0s\nEvicted=True Deactivated +40s\nholds quota in cq\nevicted 1 times for Deactivated \n",
			events: []admission.Reason{"EvictedDueToDeactivated"},
		},
		{
			name:    "a reactivation while the job stops does not call the eviction off",
			initial: changedMind, observed: openObservation(41), want: stateText(changedMind),
		},
		{
			name:    "released after that, it queues again at once",
			initial: Release(changedMind, at(45)), observed: openObservation(45),
			want: "QuotaReserved=False PendingEvaluation +45s\nAdmitted=False NoReservation +45s\nEvicted=True Deactivated +40s\n" +
				"Requeued=True Reactivated +45s\npast execution 45s\nevicted 1 times for Deactivated \n",
		},
		{
			name:    "a gated workload says what it waits for",
			initial: queuedState(), observed: openObservation(5).withChange(func(o *Observation) { o.AdmissionGates = []string{"a", "b"} }),
			want:   "QuotaReserved=False AdmissionGated +5s\nAdmitted=False NoReservation +5s\n",
			events: []admission.Reason{"AdmissionGated"},
		},
		{
			name:    "a workload whose gates are gone waits to be evaluated",
			initial: SetPendingReason(queuedState(), admission.AdmissionGated, "Admission is gated by: a", at(1)), observed: openObservation(5),
			want:   "QuotaReserved=False PendingEvaluation +1s\nAdmitted=False NoReservation +1s\n",
			events: []admission.Reason{"AdmissionGateCleared"},
		},
		{
			name:    "a preemption that is gated stays the scheduling cycle's to say",
			initial: SetPendingReason(queuedState(), admission.AdmissionGated, "Workload requires preemption, but it's gated", at(1)), observed: openObservation(5),
			want: "QuotaReserved=False AdmissionGated +1s\nAdmitted=False NoReservation +1s\n",
		},
		{
			name:    "a reason that the scheduling cycle gave stays",
			initial: SetPendingReason(queuedState(), admission.WaitingForQuota, "full", at(1)), observed: openObservation(5),
			want: "QuotaReserved=False WaitingForQuota +1s\nAdmitted=False NoReservation +1s\n",
		},
	} {
		s.run(t)
	}
}

func TestStoppedQueues(t *testing.T) {
	cq := func(state QueueState) Observation {
		return openObservation(9).withChange(func(o *Observation) { o.ClusterQueue.State = state; o.Checks = []string{"a"} })
	}
	lq := func(state QueueState) Observation {
		return openObservation(9).withChange(func(o *Observation) { o.LocalQueue.State = state })
	}
	waiting := reservedState(0, "a")
	const withdrawn = "QuotaReserved=False Suspended +9s\nAdmitted=False NoReservation +0s\ncheck a Pending retries=0 \"\"\n"
	drained := Release(Step(reservedState(0), lq(QueueDraining)).Next, at(10))
	for _, s := range []scenario{
		{
			name:    "a ClusterQueue on hold takes the reservation from who is not admitted yet",
			initial: waiting, observed: cq(QueueHeld),
			want: withdrawn,
		},
		{name: "a LocalQueue on hold lets the admitted run", initial: reservedState(0), observed: lq(QueueHeld), want: runningConditions + "holds quota in cq\n"},
		{name: "a LocalQueue that is gone lets the admitted run", initial: reservedState(0), observed: lq(QueueMissing), want: runningConditions + "holds quota in cq\n"},
		{name: "a queue that is inactive for its configuration keeps what it holds", initial: waiting, observed: cq(QueueInactive), want: stateText(waiting)},
		{
			name:    "a LocalQueue that drains evicts the admitted",
			initial: reservedState(0), observed: lq(QueueDraining),
			want:   runningConditions + "Evicted=True LocalQueueStopped +9s\nholds quota in cq\nevicted 1 times for LocalQueueStopped \n",
			events: []admission.Reason{"EvictedDueToLocalQueueStopped"},
		},
		{
			name:    "an evicted workload waits while its queue is stopped, without a timer",
			initial: drained, observed: lq(QueueDraining), want: strings.Replace(stateText(drained), "PendingEvaluation", "Suspended", 1),
			check: func(t *testing.T, p Plan) {
				t.Helper()
				if !p.RecheckAt.IsZero() {
					t.Errorf("wakes at %v", p.RecheckAt)
				}
			},
		},
		{
			name:    "a queue that is started again and cannot admit takes its workloads back too",
			initial: Release(Step(reservedState(0), cq(QueueDraining).withChange(func(o *Observation) { o.Checks = nil })).Next, at(10)), observed: cq(QueueInactive),
			want: "QuotaReserved=False Suspended +10s\nAdmitted=False NoReservation +10s\nEvicted=True ClusterQueueStopped +9s\n" +
				"Requeued=True ClusterQueueRestarted +9s\ncheck a Pending retries=0 \"\"\npast execution 10s\nevicted 1 times for ClusterQueueStopped \n",
		},
		{
			name:    "a LocalQueue on hold takes the reservation from who is not admitted yet",
			initial: waiting, observed: lq(QueueHeld).withChange(func(o *Observation) { o.Checks = []string{"a"} }),
			want: withdrawn,
		},
		{
			name:    "a ClusterQueue that drains evicts the admitted",
			initial: reservedState(0), observed: cq(QueueDraining).withChange(func(o *Observation) { o.Checks = nil }),
			want:   runningConditions + "Evicted=True ClusterQueueStopped +9s\nholds quota in cq\nevicted 1 times for ClusterQueueStopped \n",
			events: []admission.Reason{"EvictedDueToClusterQueueStopped"},
		},
		{
			name:    "a queue that is started again takes its workloads back",
			initial: drained, observed: openObservation(60),
			want: "QuotaReserved=False PendingEvaluation +10s\nAdmitted=False NoReservation +10s\nEvicted=True LocalQueueStopped +9s\n" +
				"Requeued=True LocalQueueRestarted +60s\npast execution 10s\nevicted 1 times for LocalQueueStopped \n",
		},
	} {
		s.run(t)
	}
}

func TestPreemption(t *testing.T) {
	victim := Evict(reservedState(0), Eviction{Reason: EvictedByPreemption, Message: "for x", PreemptionReason: "InClusterQueue"}, at(30))
	victim.Nominated = []string{"w1"}
	released := Release(victim, at(35))
	for _, s := range []scenario{
		{
			name:    "a victim whose job has stopped queues again at once",
			initial: released, observed: openObservation(36),
			want: "QuotaReserved=False PendingEvaluation +35s\nAdmitted=False NoReservation +35s\nEvicted=True Preempted +30s\nPreempted=True InClusterQueue +30s\n" +
				"Requeued=True Preempted +35s\npast execution 35s\nevicted 1 times for Preempted \n",
		},
		{
			name:    "the next reservation clears the traces of the eviction and remembers its text",
			initial: Reserve(released, Reservation{ClusterQueue: "cq"}, nil, "again", at(50)), observed: openObservation(51),
			want: "QuotaReserved=True QuotaReserved +50s\nAdmitted=True Admitted +50s\nEvicted=False QuotaReserved +50s\nPreempted=False QuotaReserved +50s\n" +
				"Requeued=True Preempted +35s\nholds quota in cq\npast execution 35s\nevicted 1 times for Preempted \n",
			check: func(t *testing.T, p Plan) {
				t.Helper()
				if c, _ := p.Next.Condition(Evicted); c.Message != "Previously: for x" {
					t.Errorf("message %q", c.Message)
				}
			},
		},
	} {
		s.run(t)
	}
}

func TestFinalizer(t *testing.T) {
	deleting := func(o Observation) Observation { o.Deleting = true; return o }
	for _, c := range []struct {
		name string
		from State
		sees Observation
		want bool
	}{
		{"a finished workload is let go by its job's reconciler", Finish(reservedState(0), "Succeeded", "", at(1)), openObservation(5), false},
		{"a finished workload without owner needs no guard", Finish(reservedState(0), "Succeeded", "", at(1)), openObservation(5).withChange(func(o *Observation) { o.Owned = false }), true},
		{"a running workload is guarded", reservedState(0), openObservation(5), false},
		{"a deleted workload is guarded while its job may run", reservedState(0), deleting(openObservation(5)), false},
		{"a deleted workload without owner is not", reservedState(0), deleting(openObservation(5).withChange(func(o *Observation) { o.Owned = false })), true},
		{"nor is one whose owner is known to be gone", reservedState(0), deleting(openObservation(5).withChange(func(o *Observation) { o.OwnerGone = true })), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Step(c.from, c.sees).RemoveFinalizer; got != c.want {
				t.Errorf("Unguard is %v", got)
			}
		})
	}
}

// With the gate UnadmittedWorkloadsObservability off nothing is said of deactivation where quota is waited for.
func TestCoarseReasonsKeepThePendingReasonOnDeactivation(t *testing.T) {
	for name, from := range map[string]State{
		"told why it waits": SetPendingReason(queuedState(), admission.WaitingForQuota, "full", at(1)),
		"told nothing":      queuedState(),
	} {
		from.Active = false
		o := openObservation(5)
		o.Policy.CoarseReasons = true
		next := Step(from, o).Next
		was, known := from.Condition(QuotaReserved)
		is, still := next.Condition(QuotaReserved)
		if known != still || !was.equal(is) || !next.IsTrue(Evicted) {
			t.Errorf("%s: %+v became %+v", name, was, is)
		}
	}
}
