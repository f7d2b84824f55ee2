package room

import (
	"math/rand"
	"testing"
	"time"

	"switchyard.dev/worker/admission/amount"
)

// world is a namespace in which workloads come one after the other, make their pods in any order and end. Nothing in it
// enforces the quotas: only the check keeps it within them.
type world struct {
	random  *rand.Rand
	quotas  []Quota
	running []*tenant
}

type tenant struct {
	claim  Claim
	exists []int64
}

func newWorld(random *rand.Rand) *world {
	w := &world{random: random}
	for _, q := range []Quota{
		{Name: "all", Hard: vector("pods", 1+random.Intn(12), "requests.cpu", 1000*random.Intn(20))},
		{Name: "best", Scopes: []Scope{{Name: BestEffort, Operator: Exists}}, Hard: vector("pods", random.Intn(4))},
		{Name: "high", Scopes: []Scope{{Name: PriorityClass, Operator: In, Values: []string{"high"}}}, Hard: vector("limits.cpu", 1000*random.Intn(8))},
	} {
		if random.Intn(4) > 0 {
			w.quotas = append(w.quotas, q)
		}
	}
	return w
}

func (w *world) claim() Claim {
	var claim Claim
	for range 1 + w.random.Intn(2) {
		p := Pods{Count: int64(w.random.Intn(4)), Each: vector("pods", 1)}
		if p.BestEffort = w.random.Intn(3) == 0; !p.BestEffort {
			p.Each = vector("pods", 1, "requests.cpu", 500, "limits.cpu", 1000)
		}
		if w.random.Intn(2) == 0 {
			p.PriorityClass = "high"
		}
		claim.Pods = append(claim.Pods, p)
	}
	return claim
}

// use is what the pods that exist use of a quota, counted one by one.
func (w *world) use(q Quota) amount.Vector {
	used := make(amount.Vector, len(q.Hard))
	copy(used, q.Hard)
	for i := range used {
		used[i].Amount = 0
		for _, t := range w.running {
			for k, p := range t.claim.Pods {
				for range t.exists[k] {
					if part, _ := p.Each.Get(used[i].Resource); q.appliesTo(p) {
						used[i].Amount += part
					}
				}
			}
		}
	}
	return used
}

// ask offers a new workload to the check.
func (w *world) ask() Answer {
	o := Observation{Now: start.Add(time.Hour), Since: start, Asked: w.claim()}
	for _, q := range w.quotas {
		q.Used = w.use(q)
		o.Quotas = append(o.Quotas, q)
	}
	for _, t := range w.running {
		o.InFlight = append(o.InFlight, t.claim.Missing(t.exists))
	}
	answer := Decide(o, policy)
	if answer.State == Ready {
		w.running = append(w.running, &tenant{claim: o.Asked, exists: make([]int64, len(o.Asked.Pods))})
	}
	return answer
}

// makePods lets one workload make some of its pods.
func (w *world) makePods() {
	if len(w.running) == 0 {
		return
	}
	t := w.running[w.random.Intn(len(w.running))]
	for i, p := range t.claim.Pods {
		t.exists[i] += w.random.Int63n(p.Count - t.exists[i] + 1)
	}
}

func (w *world) end() {
	if n := len(w.running); n > 0 {
		i := w.random.Intn(n)
		w.running = append(w.running[:i], w.running[i+1:]...)
	}
}

func (w *world) within(t *testing.T) {
	t.Helper()
	for _, q := range w.quotas {
		for i, used := range w.use(q) {
			if used.Amount > q.Hard[i].Amount {
				t.Fatalf("quota %s: %s uses %d of %d", q.Name, used.Resource, used.Amount, q.Hard[i].Amount)
			}
		}
	}
}

func FuzzNoMoreIsLetPassThanAQuotaHas(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		w := newWorld(rand.New(rand.NewSource(seed)))
		for range 60 {
			switch w.random.Intn(5) {
			case 0, 1:
				w.ask()
			case 2, 3:
				w.makePods()
			default:
				w.end()
			}
			w.within(t)
		}
		for range 4 * len(w.running) { // everybody makes all pods
			w.makePods()
		}
		w.within(t)
	})
}

func TestWhoIsAloneIsSentBackOnlyWhenItIsTooLarge(t *testing.T) {
	seen := map[Reason]int{}
	for seed := range int64(300) {
		answer := newWorld(rand.New(rand.NewSource(seed))).ask()
		seen[answer.Because]++
		if answer.State != Ready && answer.Because != TooLarge {
			t.Errorf("seed %d: %+v", seed, answer)
		}
	}
	if seen[HasRoom] < 30 || seen[TooLarge] < 30 {
		t.Errorf("the worlds say little: %v", seen)
	}
}
