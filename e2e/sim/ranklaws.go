package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// What the dispatcher relies on when it asks for a ranking, as laws about pairs: two clusters that are alike but for one thing, or
// one request that is asked twice. They say what placement must do, not how it counts.
const (
	rankShut     = "placement: what cannot take a workload is not offered it, and says why"
	rankRefused  = "placement: who has refused a workload is not asked again"
	rankClass    = "placement: room comes before what is not known, that before preempting, that before waiting"
	rankOwn      = "placement: own quota comes before borrowed"
	rankPrefers  = "placement: what the workload prefers comes first among those with room"
	rankWeight   = "placement: what people like better comes first among equals"
	rankHealth   = "placement: a cluster in trouble comes after one that is not"
	rankSick     = "placement: what a degraded cluster has said of its room is not believed"
	rankFlight   = "placement: what is under way to a cluster is taken"
	rankGang     = "placement: a gang goes where it fits best, a single pod where most is free"
	rankTurn     = "placement: nobody passes the head of a strict queue"
	rankQueue    = "placement: where fewer wait comes first"
	rankPriority = "placement: only who has the priority preempts"
	rankName     = "placement: equals go by name"
)

// RankLaws are their names.
func RankLaws() []string {
	return []string{
		rankShut, rankRefused, rankClass, rankOwn, rankPrefers, rankWeight, rankHealth, rankSick, rankFlight, rankGang, rankTurn, rankQueue,
		rankPriority, rankName,
	}
}

// pair is a question to placement about two clusters, a and b. Whatever is not said of them is the same.
type pair struct {
	rank    RankFunc
	request placement.Request
	fleet   []placement.Cluster
	pods    amount.Amount
	rand    *rand.Rand
	broken  string
	checks  map[string]int
}

// BrokenByRank puts the laws to the test with the figures of a seed, counts what it checks, and returns the law that is broken
// first, "" if none.
func BrokenByRank(rank RankFunc, seed uint64, checks map[string]int) string {
	r := rand.New(rand.NewPCG(seed, 0x9a7c))
	for _, check := range []func(*pair){
		(*pair).shut, (*pair).refused, (*pair).classes, (*pair).own, (*pair).prefers, (*pair).weight, (*pair).health, (*pair).sick,
		(*pair).flight, (*pair).gang, (*pair).turn, (*pair).queue, (*pair).priority, (*pair).name,
	} {
		p := &pair{rank: rank, rand: r, checks: checks}
		p.reset()
		if check(p); p.broken != "" {
			return p.broken
		}
	}
	return ""
}

// reset makes two clusters with the same room for the workload; the names are drawn, so that none wins by its name.
func (p *pair) reset() {
	p.pods = amount.Amount(1 + p.rand.IntN(6))
	p.request = placement.Request{Namespace: "ns", LocalQueue: queueName, Kind: "Job.v1.batch", Priority: 1, PodSets: []admission.PodSet{podSet(int64(p.pods), false)}}
	names := []string{"x", "y"}
	p.rand.Shuffle(2, func(i, j int) { names[i], names[j] = names[j], names[i] })
	free := p.pods + amount.Amount(p.rand.IntN(8))
	p.fleet = []placement.Cluster{p.cluster(names[0], free), p.cluster(names[1], free)}
}

// cluster has so much free of its own, and twice that in all.
func (p *pair) cluster(name string, free amount.Amount) placement.Cluster {
	one := func(n amount.Amount) []amount.Amount { return []amount.Amount{n} }
	return placement.Cluster{Name: name, Weight: placement.DefaultWeight, Capacity: &placement.Capacity{
		Kinds: []string{"Job.v1.batch"}, Flavors: []admission.Flavor{{Name: flavor}},
		Locals: []placement.LocalQueue{{Key: key(queueName), Queue: queueName}},
		Queues: []placement.Queue{{Name: queueName, Groups: []placement.Group{{
			Resources: []string{resource}, Flavors: []placement.Room{{Flavor: flavor, Own: one(free), Free: one(free), Largest: one(4*free + 8)}},
		}}}},
	}}
}

func (p *pair) a() *placement.Cluster { return &p.fleet[0] }
func (p *pair) b() *placement.Cluster { return &p.fleet[1] }

func spot(c *placement.Cluster) *placement.Room  { return &c.Capacity.Queues[0].Groups[0].Flavors[0] }
func line(c *placement.Cluster) *placement.Queue { return &c.Capacity.Queues[0] }
func figure(n amount.Amount) []amount.Amount     { return []amount.Amount{n} }
func waiting(n int) []placement.Waiting          { return []placement.Waiting{{Priority: 1, Count: n}} }
func full(c *placement.Cluster, n amount.Amount) { spot(c).Own, spot(c).Free = figure(n), figure(n) }

// choice is what placement says of a cluster, asked with both in a drawn order.
func (p *pair) choice(name string) placement.Choice {
	fleet := slices.Clone(p.fleet)
	p.rand.Shuffle(2, func(i, j int) { fleet[i], fleet[j] = fleet[j], fleet[i] })
	for _, c := range p.rank(p.request, fleet) {
		if c.Cluster == name {
			return c
		}
	}
	return placement.Choice{}
}

func (p *pair) must(law string, holds bool, format string, args ...any) {
	p.checks[law]++
	if !holds && p.broken == "" {
		p.broken = law + ": " + fmt.Sprintf(format, args...)
	}
}

// firstIs checks that both may be offered the workload and a comes before b, whatever their names.
func (p *pair) firstIs(law string) {
	a, b := p.choice(p.a().Name), p.choice(p.b().Name)
	p.must(law, a.Eligible && b.Eligible && a.Score > b.Score, "%+v, not before %+v", a, b)
}

// shut: everything that rules a cluster out does so, and nothing else.
func (p *pair) shut() {
	for reason, change := range map[placement.Reason]func(){
		placement.Cordoned:      func() { p.b().Cordoned = true },
		placement.KindNotServed: func() { p.b().Capacity.Kinds = []string{"Other.v1.batch"} },
		placement.NoLocalQueue:  func() { p.b().Capacity.Locals = nil },
		placement.QueueClosed:   func() { p.b().Capacity.Locals[0].Closed = "it is on hold" },
		placement.NoFlavor:      func() { p.b().Capacity.Flavors[0] = flavorOf(true) },
		placement.TooLarge:      func() { full(p.b(), 0); spot(p.b()).Largest = figure(p.pods - 1) },
	} {
		p.reset()
		change()
		a, b := p.choice(p.a().Name), p.choice(p.b().Name)
		p.must(rankShut, a.Eligible && a.Reason == placement.Fits && !b.Eligible && b.Reason == reason && b.Message != "", "%+v and, for %s, %+v", a, reason, b)
	}
	p.reset()
	line(p.b()).Closed = "it is stopped"
	p.must(rankShut, !p.choice(p.b().Name).Eligible, "a stopped ClusterQueue")
	p.reset()
	p.b().Capacity.Flavors[0] = flavorOf(true)
	p.request.PodSets = []admission.PodSet{podSet(int64(p.pods), true)}
	p.must(rankShut, p.choice(p.b().Name).Eligible, "pods that tolerate the taint")
}

func (p *pair) refused() {
	p.request.Refused = []placement.Refusal{{Cluster: p.b().Name, Because: "too large"}}
	a, b := p.choice(p.a().Name), p.choice(p.b().Name)
	p.must(rankRefused, a.Eligible && !b.Eligible && b.Reason == placement.Refused, "%+v and %+v", a, b)
}

// classes: each thing that a cluster may have for the workload comes before the next one, whatever weight and affinity say.
func (p *pair) classes() {
	steps := []func(*placement.Cluster){
		func(*placement.Cluster) {},
		func(c *placement.Cluster) { c.Capacity = nil },
		func(c *placement.Cluster) {
			full(c, 0)
			spot(c).Preempting = []placement.Step{{Priority: 1, Free: figure(p.pods)}}
		},
		func(c *placement.Cluster) { full(c, 0) },
	}
	for i := range len(steps) - 1 {
		p.reset()
		steps[i](p.a())
		steps[i+1](p.b())
		p.b().Weight, p.request.Prefer = 100, []string{p.b().Name}
		p.firstIs(rankClass)
	}
}

func (p *pair) own() {
	spot(p.b()).Own = figure(p.pods - 1)
	p.b().Weight = 100
	p.firstIs(rankOwn)
}

func (p *pair) prefers() {
	spot(p.a()).Own = figure(0) // it is preferred even if it has to borrow
	p.b().Weight = 100
	p.request.Prefer = []string{p.a().Name, p.b().Name}
	p.firstIs(rankPrefers)
}

func (p *pair) weight() {
	p.a().Weight, p.b().Weight = 60, 20
	p.firstIs(rankWeight)
}

func (p *pair) health() {
	p.b().Troubles = 1 + p.rand.IntN(3)
	p.firstIs(rankHealth)
}

func (p *pair) sick() {
	p.b().Degraded, p.b().Weight = overdue, 100
	p.request.Prefer = []string{p.b().Name}
	p.firstIs(rankSick)
	p.must(rankSick, p.choice(p.b().Name).Reason == placement.Unknown, "%+v", p.choice(p.b().Name))
}

// flight: with so much under way that not enough is left, a cluster is as good as one with nothing free. What is under way to
// other queues does not matter, nor where a claim's flavor is not known.
func (p *pair) flight() {
	left := spot(p.b()).Free[0] - p.pods
	claim := placement.Claim{Queue: queueName, Flavor: flavor, Resource: resource, Amount: left + 1}
	if p.rand.IntN(2) == 0 {
		claim.Flavor = ""
	}
	p.b().InFlight, p.b().Weight = []placement.Claim{claim}, 100
	p.firstIs(rankFlight)
	p.must(rankFlight, p.choice(p.b().Name).Reason == placement.Waits, "%+v", p.choice(p.b().Name))
	claim.Queue = "another"
	p.b().InFlight = []placement.Claim{claim}
	p.must(rankFlight, p.choice(p.b().Name).Reason == placement.Fits, "%+v", p.choice(p.b().Name))
}

func (p *pair) gang() {
	p.request.PodSets[0].Count = 4
	full(p.a(), 4*p.pods+1)
	full(p.b(), 16*p.pods+16)
	spot(p.a()).Largest, spot(p.b()).Largest = figure(20*p.pods+20), figure(20*p.pods+20)
	p.firstIs(rankGang)
	p.request.PodSets[0].Count = 1
	p.fleet[0], p.fleet[1] = p.fleet[1], p.fleet[0]
	p.firstIs(rankGang)
}

func (p *pair) turn() {
	line(p.b()).Strict, line(p.b()).Waiting, p.b().Weight = true, waiting(1), 100
	p.firstIs(rankTurn)
	p.must(rankTurn, p.choice(p.b().Name).Reason == placement.Waits, "%+v", p.choice(p.b().Name))
	p.b().Offered = true // it is the one that waits
	p.must(rankTurn, p.choice(p.b().Name).Reason == placement.Fits, "%+v", p.choice(p.b().Name))
	p.b().Offered, line(p.b()).Waiting = false, []placement.Waiting{{Priority: 0, Count: 3}}
	p.must(rankTurn, p.choice(p.b().Name).Reason == placement.Fits, "behind lower priorities: %+v", p.choice(p.b().Name))
}

func (p *pair) queue() {
	full(p.a(), p.pods-1)
	full(p.b(), p.pods-1)
	p.must(rankQueue, p.choice(p.a().Name).Reason == placement.Waits, "%+v", p.choice(p.a().Name))
	if p.pods == 1 {
		return // nothing of it is free: then they are equals
	}
	line(p.a()).Waiting, line(p.b()).Waiting = waiting(p.rand.IntN(3)), waiting(20)
	p.firstIs(rankQueue)
}

func (p *pair) priority() {
	full(p.b(), 0)
	spot(p.b()).Preempting = []placement.Step{{Priority: 1, Free: figure(p.pods)}}
	p.must(rankPriority, p.choice(p.b().Name).Reason == placement.Preempts, "%+v", p.choice(p.b().Name))
	p.request.Priority = 0
	p.must(rankPriority, p.choice(p.b().Name).Reason == placement.Waits, "%+v", p.choice(p.b().Name))
}

func (p *pair) name() {
	list := p.rank(p.request, p.fleet)
	p.must(rankName, len(list) == 2 && list[0].Score == list[1].Score && list[0].Cluster == "x", "%+v", list)
}
