package lifecycle

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// world is one workload among those who act on it: users, queues, checks, the scheduling cycle and the job's reconciler.
// Each of them sees the stored state and writes it, as over an API.
type world struct {
	dice    *rand.Rand
	now     time.Time
	state   State
	sees    Observation
	running bool
	// replay has every turn logged.
	replay func(format string, args ...any)
}

func newWorld(seed uint64) *world {
	dice := rand.New(rand.NewPCG(seed, 7))
	w := &world{dice: dice, now: epoch, state: queued(), sees: open(0)}
	w.sees.Owned = dice.IntN(3) > 0
	w.sees.Checks = pick(dice, "a", "b")
	if dice.IntN(2) == 0 {
		w.state.MaxExecution = 400
	}
	if limit := int32(2); w.sees.Owned && dice.IntN(2) == 0 {
		w.sees.Policy.PodsReady = &PodsReadyPolicy{
			Timeout: 40 * time.Second, RecoveryTimeout: 20 * time.Second, BackoffBase: 2 * time.Second, BackoffMax: 4 * time.Second, Limit: &limit,
		}
	}
	return w
}

// controller is one reconcile of the workload controller: state first, else one action.
func (w *world) controller() {
	w.sees.Now = w.now
	plan := Step(w.state, w.sees)
	switch {
	case !plan.Next.Equal(w.state):
		w.state = plan.Next
	case plan.Deactivate:
		w.state.Active = false
	}
}

// scheduler reserves quota for a workload that may queue.
func (w *world) scheduler() {
	requeued, _ := w.state.Condition(Requeued)
	may := w.state.Active && w.state.Reservation == nil && requeued.Status != False && !w.state.RequeueAt.After(w.now) &&
		len(w.sees.GatedBy) == 0 && w.sees.ClusterQueue.State == QueueOpen && w.sees.LocalQueue.State == QueueOpen
	if may {
		w.state = Reserve(w.state, Reservation{ClusterQueue: "cq"}, w.sees.Checks, "reserved", w.now)
	}
}

// job starts, stops and releases as the contract says; it takes a while to stop. When all is well its pods are ready.
func (w *world) job(well bool) {
	leaving := w.state.leaving()
	switch {
	case w.running && !leaving && w.state.Is(Admitted):
		if well || w.dice.IntN(3) == 0 {
			w.state = w.state.with(PodsReady, True, "Started", "", w.now)
		} else {
			w.state = w.state.with(PodsReady, False, WaitForRecovery, "", w.now)
		}
	case w.running && (leaving || !w.state.Is(Admitted)):
		w.running = w.dice.IntN(2) == 0
	case !w.running && leaving && w.sees.Owned:
		w.state = Release(w.state, w.now)
	case !w.running && !leaving && w.state.Is(Admitted):
		w.running = true
		w.state = w.state.with(PodsReady, False, "WaitForStart", "", w.now)
	}
}

// check answers as it likes; when all is well, Ready to whoever waits for its answer.
func (w *world) check(well bool) {
	if len(w.state.Checks) == 0 {
		return
	}
	answers := []CheckState{CheckReady, CheckReady, CheckPending, CheckRetry, CheckRejected}
	c := w.state.Checks[w.dice.IntN(len(w.state.Checks))]
	answer := answers[w.dice.IntN(len(answers))]
	if well && c.State != CheckPending {
		return
	}
	if well {
		answer = CheckReady
	}
	w.state = w.state.says(c.Name, answer, "", int(w.now.Sub(epoch).Seconds()))
	w.state = Derive(w.state, w.now)
}

// people change their minds.
func (w *world) people() {
	switch w.dice.IntN(6) {
	case 0:
		w.state.Active = !w.state.Active
	case 1:
		w.sees.ClusterQueue.State = QueueState(1 + w.dice.IntN(5))
	case 2:
		w.sees.LocalQueue.State = QueueState(1 + w.dice.IntN(5))
	case 3:
		w.sees.Checks = pick(w.dice, "a", "b", "c")
	case 4:
		w.state = w.state.with(DeactivationTarget, True, "EvictedOnManagerCluster", "hub", w.now)
	case 5:
		if w.state.Reservation != nil {
			w.state = Evict(w.state, Eviction{Reason: EvictedByPreemption, Message: "x", PreemptedBecause: "InClusterQueue"}, w.now)
		}
	}
}

func (w *world) turn(well bool) {
	w.now = w.now.Add(time.Duration(w.dice.IntN(3)) * time.Second)
	who := w.dice.IntN(5)
	switch who {
	case 0:
		w.scheduler()
	case 1:
		w.job(well)
	case 2:
		w.check(well)
	case 3:
		if well {
			w.state.Active = true
		} else {
			w.people()
		}
	default:
		w.controller()
	}
	if w.replay != nil {
		w.replay("actor %d at +%ds, running %v:\n%s", who, int(w.now.Sub(epoch).Seconds()), w.running, tell(w.state))
	}
}

// live goes through trouble, then lets all be well: queues open, checks say yes to who waits for them, and a person
// reactivates a workload that was deactivated. It returns what went wrong.
func (w *world) live() error {
	for range 60 {
		w.turn(false)
		if w.sees.Owned && w.running && w.state.Reservation == nil {
			return errors.New("quota was released under a running job")
		}
	}
	w.sees.ClusterQueue.State, w.sees.LocalQueue.State = QueueOpen, QueueOpen
	w.state = w.state.without(DeactivationTarget)
	for range 300 {
		w.turn(true)
	}
	if !w.state.Is(Admitted) || !w.running || w.state.Is(Evicted) {
		return errors.New("all is well and the job does not run")
	}
	return nil
}

func TestEveryWorkloadRunsOnceAllIsWell(t *testing.T) {
	for seed := range uint64(1000) {
		if err := newWorld(seed).live(); err != nil {
			again := newWorld(seed)
			again.replay = t.Logf
			t.Fatalf("seed %d: %v, replayed: %v", seed, err, again.live())
		}
	}
}
