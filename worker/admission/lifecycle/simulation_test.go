package lifecycle

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// actorSimulation is one workload among the programs that act on it: users, queues, checks, the scheduling cycle and the
// job's reconciler. Each of them sees the stored state and writes it, as over an API.
type actorSimulation struct {
	rng        *rand.Rand
	now        time.Time
	state      State
	observed   Observation
	jobRunning bool
	// logf has every turn logged.
	logf func(format string, args ...any)
}

func newActorSimulation(seed uint64) *actorSimulation {
	dice := rand.New(rand.NewPCG(seed, 7))
	w := &actorSimulation{rng: dice, now: epoch, state: queuedState(), observed: openObservation(0)}
	w.observed.Owned = dice.IntN(3) > 0
	w.observed.Checks = randomSubset(dice, "a", "b")
	if dice.IntN(2) == 0 {
		w.state.MaxExecution = 400
	}
	if limit := int32(2); w.observed.Owned && dice.IntN(2) == 0 {
		w.observed.Policy.PodsReady = &PodsReadyPolicy{
			Timeout: 40 * time.Second, RecoveryTimeout: 20 * time.Second, BackoffBase: 2 * time.Second, BackoffMax: 4 * time.Second, RequeueLimit: &limit,
		}
	}
	return w
}

// runController is one reconcile of the workload controller: state first, else one action.
func (w *actorSimulation) runController() {
	w.observed.Now = w.now
	plan := Step(w.state, w.observed)
	switch {
	case !plan.Next.Equal(w.state):
		w.state = plan.Next
	case plan.Deactivate:
		w.state.Active = false
	}
}

// runScheduler reserves quota for a workload that may queue.
func (w *actorSimulation) runScheduler() {
	requeued, _ := w.state.Condition(Requeued)
	may := w.state.Active && w.state.Reservation == nil && requeued.Status != False && !w.state.RequeueAt.After(w.now) &&
		len(w.observed.AdmissionGates) == 0 && w.observed.ClusterQueue.State == QueueOpen && w.observed.LocalQueue.State == QueueOpen
	if may {
		w.state = Reserve(w.state, Reservation{ClusterQueue: "cq"}, w.observed.Checks, "reserved", w.now)
	}
}

// runJob starts, stops and releases as the contract says; it takes a while to stop. When all is well its pods are ready.
func (w *actorSimulation) runJob(well bool) {
	leaving := w.state.isEvicting()
	switch {
	case w.jobRunning && !leaving && w.state.IsTrue(Admitted):
		if well || w.rng.IntN(3) == 0 {
			w.state = w.state.withCondition(PodsReady, True, "Started", "", w.now)
		} else {
			w.state = w.state.withCondition(PodsReady, False, WaitForRecovery, "", w.now)
		}
	case w.jobRunning && (leaving || !w.state.IsTrue(Admitted)):
		w.jobRunning = w.rng.IntN(2) == 0
	case !w.jobRunning && leaving && w.observed.Owned:
		w.state = Release(w.state, w.now)
	case !w.jobRunning && !leaving && w.state.IsTrue(Admitted):
		w.jobRunning = true
		w.state = w.state.withCondition(PodsReady, False, "WaitForStart", "", w.now)
	}
}

// runCheck answers as it likes; when all is well, Ready to each workload that waits for its answer.
func (w *actorSimulation) runCheck(well bool) {
	if len(w.state.Checks) == 0 {
		return
	}
	answers := []CheckState{CheckReady, CheckReady, CheckPending, CheckRetry, CheckRejected}
	c := w.state.Checks[w.rng.IntN(len(w.state.Checks))]
	answer := answers[w.rng.IntN(len(answers))]
	if well && c.State != CheckPending {
		return
	}
	if well {
		answer = CheckReady
	}
	w.state = w.state.withCheckState(c.Name, answer, "", int(w.now.Sub(epoch).Seconds()))
	w.state = DeriveConditions(w.state, w.now)
}

// changeByUser change their minds.
func (w *actorSimulation) changeByUser() {
	switch w.rng.IntN(6) {
	case 0:
		w.state.Active = !w.state.Active
	case 1:
		w.observed.ClusterQueue.State = QueueState(1 + w.rng.IntN(5))
	case 2:
		w.observed.LocalQueue.State = QueueState(1 + w.rng.IntN(5))
	case 3:
		w.observed.Checks = randomSubset(w.rng, "a", "b", "c")
	case 4:
		w.state = w.state.withCondition(DeactivationTarget, True, "EvictedOnManagerCluster", "hub", w.now)
	case 5:
		if w.state.Reservation != nil {
			w.state = Evict(w.state, Eviction{Reason: EvictedByPreemption, Message: "x", PreemptionReason: "InClusterQueue"}, w.now)
		}
	}
}

func (w *actorSimulation) runActor(well bool) {
	w.now = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Second)
	who := w.rng.IntN(5)
	switch who {
	case 0:
		w.runScheduler()
	case 1:
		w.runJob(well)
	case 2:
		w.runCheck(well)
	case 3:
		if well {
			w.state.Active = true
		} else {
			w.changeByUser()
		}
	default:
		w.runController()
	}
	if w.logf != nil {
		w.logf("actor %d at +%ds, running %v:\n%s", who, int(w.now.Sub(epoch).Seconds()), w.jobRunning, stateText(w.state))
	}
}

// run goes through trouble, then lets all be well: queues open, checks say yes to workloads that wait for them, and a person
// reactivates a workload that was deactivated. It returns what went wrong.
func (w *actorSimulation) run() error {
	for range 60 {
		w.runActor(false)
		if w.observed.Owned && w.jobRunning && w.state.Reservation == nil {
			return errors.New("quota was released under a running job")
		}
	}
	w.observed.ClusterQueue.State, w.observed.LocalQueue.State = QueueOpen, QueueOpen
	w.state = w.state.withoutCondition(DeactivationTarget)
	for range 300 {
		w.runActor(true)
	}
	if !w.state.IsTrue(Admitted) || !w.jobRunning || w.state.IsTrue(Evicted) {
		return errors.New("all is well and the job does not run")
	}
	return nil
}

func TestEveryWorkloadEventuallyRuns(t *testing.T) {
	for seed := range uint64(1000) {
		if err := newActorSimulation(seed).run(); err != nil {
			again := newActorSimulation(seed)
			again.logf = t.Logf
			t.Fatalf("seed %d: %v, replayed: %v", seed, err, again.run())
		}
	}
}
