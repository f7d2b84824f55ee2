package quotafit

import (
	"math/rand"
	"testing"
	"time"

	"switchyard.dev/worker/admission/amount"
)

// namespaceModel is a namespace in which workloads come one after the other, make their pods in any order and end. Nothing in it
// enforces the quotas: only the check keeps it within them.
type namespaceModel struct {
	random  *rand.Rand
	quotas  []Quota
	running []*runningWorkload
}

type runningWorkload struct {
	claim    Claim
	existing []int64
}

func newNamespaceModel(random *rand.Rand) *namespaceModel {
	w := &namespaceModel{random: random}
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

func (w *namespaceModel) randomClaim() Claim {
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

// usage is what the pods that exist use of a quota, counted one by one.
func (w *namespaceModel) usage(q Quota) amount.Vector {
	used := make(amount.Vector, len(q.Hard))
	copy(used, q.Hard)
	for i := range used {
		used[i].Amount = 0
		for _, t := range w.running {
			for k, p := range t.claim.Pods {
				for range t.existing[k] {
					if part, _ := p.Each.Lookup(used[i].Resource); q.appliesTo(p) {
						used[i].Amount += part
					}
				}
			}
		}
	}
	return used
}

// submit offers a new workload to the check.
func (w *namespaceModel) submit() Outcome {
	o := Observation{Now: start.Add(time.Hour), ReservedAt: start, Requested: w.randomClaim()}
	for _, q := range w.quotas {
		q.Used = w.usage(q)
		o.Quotas = append(o.Quotas, q)
	}
	for _, t := range w.running {
		o.InFlight = append(o.InFlight, t.claim.WithoutExisting(t.existing))
	}
	answer := Decide(o, policy)
	if answer.State == Ready {
		w.running = append(w.running, &runningWorkload{claim: o.Requested, existing: make([]int64, len(o.Requested.Pods))})
	}
	return answer
}

// createPods lets one workload make some of its pods.
func (w *namespaceModel) createPods() {
	if len(w.running) == 0 {
		return
	}
	t := w.running[w.random.Intn(len(w.running))]
	for i, p := range t.claim.Pods {
		t.existing[i] += w.random.Int63n(p.Count - t.existing[i] + 1)
	}
}

func (w *namespaceModel) finishWorkload() {
	if n := len(w.running); n > 0 {
		i := w.random.Intn(n)
		w.running = append(w.running[:i], w.running[i+1:]...)
	}
}

func (w *namespaceModel) checkQuotas(t *testing.T) {
	t.Helper()
	for _, q := range w.quotas {
		for i, used := range w.usage(q) {
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
		w := newNamespaceModel(rand.New(rand.NewSource(seed)))
		for range 60 {
			switch w.random.Intn(5) {
			case 0, 1:
				w.submit()
			case 2, 3:
				w.createPods()
			default:
				w.finishWorkload()
			}
			w.checkQuotas(t)
		}
		for range 4 * len(w.running) { // everybody makes all pods
			w.createPods()
		}
		w.checkQuotas(t)
	})
}

func TestWhoIsAloneIsSentBackOnlyWhenItIsTooLarge(t *testing.T) {
	seen := map[Reason]int{}
	for seed := range int64(300) {
		answer := newNamespaceModel(rand.New(rand.NewSource(seed))).submit()
		seen[answer.Reason]++
		if answer.State != Ready && answer.Reason != TooLarge {
			t.Errorf("seed %d: %+v", seed, answer)
		}
	}
	if seen[WithinQuota] < 30 || seen[TooLarge] < 30 {
		t.Errorf("the worlds say little: %v", seen)
	}
}
