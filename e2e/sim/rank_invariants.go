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
	rankIneligible  = "placement: what cannot take a workload is not offered it, and says why"
	rankRefused     = "placement: who has refused a workload is not asked again"
	rankClass       = "placement: room comes before what is not known, that before preempting, that before waiting"
	rankOwn         = "placement: own quota comes before borrowed"
	rankPreferred   = "placement: what the workload prefers comes first among those with room"
	rankWeight      = "placement: what people like better comes first among equals"
	rankHealth      = "placement: a cluster in trouble comes after one that is not"
	rankDegraded    = "placement: what a degraded cluster has said of its room is not believed"
	rankInFlight    = "placement: what is under way to a cluster is taken"
	rankGang        = "placement: a gang goes where it fits best, a single pod where most is free"
	rankStrictQueue = "placement: nobody passes the head of a strict queue"
	rankQueue       = "placement: where fewer wait comes first"
	rankPriority    = "placement: only who has the priority preempts"
	rankName        = "placement: equals go by name"
)

// RankInvariants are their names.
func RankInvariants() []string {
	return []string{
		rankIneligible, rankRefused, rankClass, rankOwn, rankPreferred, rankWeight, rankHealth, rankDegraded, rankInFlight, rankGang, rankStrictQueue, rankQueue,
		rankPriority, rankName,
	}
}

// rankPair is a question to placement about two clusters, a and b. Whatever is not said of them is the same.
type rankPair struct {
	rank      RankFunc
	request   placement.Request
	clusters  []placement.Cluster
	pods      amount.Amount
	rand      *rand.Rand
	violation string
	checks    map[string]int
}

// FindRankViolation puts the laws to the test with the figures of a seed, counts what it checks, and returns the law that is broken
// first, "" if none.
func FindRankViolation(rank RankFunc, seed uint64, checks map[string]int) string {
	r := rand.New(rand.NewPCG(seed, 0x9a7c))
	for _, check := range []func(*rankPair){
		(*rankPair).checkIneligible, (*rankPair).checkRefused, (*rankPair).checkClasses, (*rankPair).checkOwnQuota, (*rankPair).checkPreferred, (*rankPair).checkWeight, (*rankPair).checkHealth, (*rankPair).checkDegraded,
		(*rankPair).checkInFlight, (*rankPair).checkGang, (*rankPair).checkStrictQueue, (*rankPair).checkQueueLength, (*rankPair).checkPriority, (*rankPair).checkNameOrder,
	} {
		p := &rankPair{rank: rank, rand: r, checks: checks}
		p.reset()
		if check(p); p.violation != "" {
			return p.violation
		}
	}
	return ""
}

// reset makes two clusters with the same room for the workload; the names are drawn, so that none wins by its name.
func (p *rankPair) reset() {
	p.pods = amount.Amount(1 + p.rand.IntN(6))
	p.request = placement.Request{Namespace: "ns", LocalQueue: queueName, Kind: "Job.v1.batch", Priority: 1, PodSets: []admission.PodSet{podSet(int64(p.pods), false)}}
	names := []string{"x", "y"}
	p.rand.Shuffle(2, func(i, j int) { names[i], names[j] = names[j], names[i] })
	free := p.pods + amount.Amount(p.rand.IntN(8))
	p.clusters = []placement.Cluster{p.newCluster(names[0], free), p.newCluster(names[1], free)}
}

// newCluster has so much free of its own, and twice that in all.
func (p *rankPair) newCluster(name string, free amount.Amount) placement.Cluster {
	one := func(n amount.Amount) []amount.Amount { return []amount.Amount{n} }
	return placement.Cluster{Name: name, Weight: placement.DefaultWeight, Capacity: &placement.Capacity{
		Kinds: []string{"Job.v1.batch"}, Flavors: []admission.Flavor{{Name: flavorName}},
		Locals: []placement.LocalQueue{{Key: workloadKey(queueName), Queue: queueName}},
		Queues: []placement.Queue{{Name: queueName, Groups: []placement.Group{{
			Resources: []string{resourceName}, Flavors: []placement.FlavorQuota{{Flavor: flavorName, Nominal: one(free), Free: one(free), Largest: one(4*free + 8)}},
		}}}},
	}}
}

func (p *rankPair) a() *placement.Cluster { return &p.clusters[0] }
func (p *rankPair) b() *placement.Cluster { return &p.clusters[1] }

func flavorCapacity(c *placement.Cluster) *placement.FlavorQuota {
	return &c.Capacity.Queues[0].Groups[0].Flavors[0]
}
func clusterQueue(c *placement.Cluster) *placement.Queue { return &c.Capacity.Queues[0] }
func oneAmount(n amount.Amount) []amount.Amount          { return []amount.Amount{n} }
func waitingCounts(n int) []placement.PendingClass {
	return []placement.PendingClass{{Priority: 1, Count: n}}
}
func setFree(c *placement.Cluster, n amount.Amount) {
	flavorCapacity(c).Nominal, flavorCapacity(c).Free = oneAmount(n), oneAmount(n)
}

// rankOf is what placement says of a cluster, asked with both in a drawn order.
func (p *rankPair) rankOf(name string) placement.Choice {
	fleet := slices.Clone(p.clusters)
	p.rand.Shuffle(2, func(i, j int) { fleet[i], fleet[j] = fleet[j], fleet[i] })
	for _, c := range p.rank(p.request, fleet) {
		if c.Cluster == name {
			return c
		}
	}
	return placement.Choice{}
}

func (p *rankPair) mustHold(law string, holds bool, format string, args ...any) {
	p.checks[law]++
	if !holds && p.violation == "" {
		p.violation = law + ": " + fmt.Sprintf(format, args...)
	}
}

// expectFirst checks that both may be offered the workload and a comes before b, whatever their names.
func (p *rankPair) expectFirst(law string) {
	a, b := p.rankOf(p.a().Name), p.rankOf(p.b().Name)
	p.mustHold(law, a.Eligible && b.Eligible && a.Score > b.Score, "%+v, not before %+v", a, b)
}

// shut: everything that rules a cluster out does so, and nothing else.
func (p *rankPair) checkIneligible() {
	for reason, change := range map[placement.Reason]func(){
		placement.Cordoned:      func() { p.b().Cordoned = true },
		placement.KindNotServed: func() { p.b().Capacity.Kinds = []string{"Other.v1.batch"} },
		placement.NoLocalQueue:  func() { p.b().Capacity.Locals = nil },
		placement.QueueClosed:   func() { p.b().Capacity.Locals[0].Closed = "it is on hold" },
		placement.NoFlavor:      func() { p.b().Capacity.Flavors[0] = flavorOf(true) },
		placement.TooLarge:      func() { setFree(p.b(), 0); flavorCapacity(p.b()).Largest = oneAmount(p.pods - 1) },
	} {
		p.reset()
		change()
		a, b := p.rankOf(p.a().Name), p.rankOf(p.b().Name)
		p.mustHold(rankIneligible, a.Eligible && a.Reason == placement.Fits && !b.Eligible && b.Reason == reason && b.Message != "", "%+v and, for %s, %+v", a, reason, b)
	}
	p.reset()
	clusterQueue(p.b()).Closed = "it is stopped"
	p.mustHold(rankIneligible, !p.rankOf(p.b().Name).Eligible, "a stopped ClusterQueue")
	p.reset()
	p.b().Capacity.Flavors[0] = flavorOf(true)
	p.request.PodSets = []admission.PodSet{podSet(int64(p.pods), true)}
	p.mustHold(rankIneligible, p.rankOf(p.b().Name).Eligible, "pods that tolerate the taint")
}

func (p *rankPair) checkRefused() {
	p.request.Refused = []placement.Refusal{{Cluster: p.b().Name, Message: "too large"}}
	a, b := p.rankOf(p.a().Name), p.rankOf(p.b().Name)
	p.mustHold(rankRefused, a.Eligible && !b.Eligible && b.Reason == placement.Refused, "%+v and %+v", a, b)
}

// classes: each thing that a cluster may have for the workload comes before the next one, whatever weight and affinity say.
func (p *rankPair) checkClasses() {
	steps := []func(*placement.Cluster){
		func(*placement.Cluster) {},
		func(c *placement.Cluster) { c.Capacity = nil },
		func(c *placement.Cluster) {
			setFree(c, 0)
			flavorCapacity(c).Preempting = []placement.Step{{Priority: 1, Free: oneAmount(p.pods)}}
		},
		func(c *placement.Cluster) { setFree(c, 0) },
	}
	for i := range len(steps) - 1 {
		p.reset()
		steps[i](p.a())
		steps[i+1](p.b())
		p.b().Weight, p.request.Prefer = 100, []string{p.b().Name}
		p.expectFirst(rankClass)
	}
}

func (p *rankPair) checkOwnQuota() {
	flavorCapacity(p.b()).Nominal = oneAmount(p.pods - 1)
	p.b().Weight = 100
	p.expectFirst(rankOwn)
}

func (p *rankPair) checkPreferred() {
	flavorCapacity(p.a()).Nominal = oneAmount(0) // it is preferred even if it has to borrow
	p.b().Weight = 100
	p.request.Prefer = []string{p.a().Name, p.b().Name}
	p.expectFirst(rankPreferred)
}

func (p *rankPair) checkWeight() {
	p.a().Weight, p.b().Weight = 60, 20
	p.expectFirst(rankWeight)
}

func (p *rankPair) checkHealth() {
	p.b().Troubles = 1 + p.rand.IntN(3)
	p.expectFirst(rankHealth)
}

func (p *rankPair) checkDegraded() {
	p.b().Degraded, p.b().Weight = overdueMessage, 100
	p.request.Prefer = []string{p.b().Name}
	p.expectFirst(rankDegraded)
	p.mustHold(rankDegraded, p.rankOf(p.b().Name).Reason == placement.Unknown, "%+v", p.rankOf(p.b().Name))
}

// flight: with so much under way that not enough is left, a cluster is as good as one with nothing free. What is under way to
// other queues does not matter, nor where a claim's flavor is not known.
func (p *rankPair) checkInFlight() {
	left := flavorCapacity(p.b()).Free[0] - p.pods
	claim := placement.Claim{Queue: queueName, Flavor: flavorName, Resource: resourceName, Amount: left + 1}
	if p.rand.IntN(2) == 0 {
		claim.Flavor = ""
	}
	p.b().InFlight, p.b().Weight = []placement.Claim{claim}, 100
	p.expectFirst(rankInFlight)
	p.mustHold(rankInFlight, p.rankOf(p.b().Name).Reason == placement.Waits, "%+v", p.rankOf(p.b().Name))
	claim.Queue = "another"
	p.b().InFlight = []placement.Claim{claim}
	p.mustHold(rankInFlight, p.rankOf(p.b().Name).Reason == placement.Fits, "%+v", p.rankOf(p.b().Name))
}

func (p *rankPair) checkGang() {
	p.request.PodSets[0].Count = 4
	setFree(p.a(), 4*p.pods+1)
	setFree(p.b(), 16*p.pods+16)
	flavorCapacity(p.a()).Largest, flavorCapacity(p.b()).Largest = oneAmount(20*p.pods+20), oneAmount(20*p.pods+20)
	p.expectFirst(rankGang)
	p.request.PodSets[0].Count = 1
	p.clusters[0], p.clusters[1] = p.clusters[1], p.clusters[0]
	p.expectFirst(rankGang)
}

func (p *rankPair) checkStrictQueue() {
	clusterQueue(p.b()).Strict, clusterQueue(p.b()).Waiting, p.b().Weight = true, waitingCounts(1), 100
	p.expectFirst(rankStrictQueue)
	p.mustHold(rankStrictQueue, p.rankOf(p.b().Name).Reason == placement.Waits, "%+v", p.rankOf(p.b().Name))
	p.b().Offered = true // it is the one that waits
	p.mustHold(rankStrictQueue, p.rankOf(p.b().Name).Reason == placement.Fits, "%+v", p.rankOf(p.b().Name))
	p.b().Offered, clusterQueue(p.b()).Waiting = false, []placement.PendingClass{{Priority: 0, Count: 3}}
	p.mustHold(rankStrictQueue, p.rankOf(p.b().Name).Reason == placement.Fits, "behind lower priorities: %+v", p.rankOf(p.b().Name))
}

func (p *rankPair) checkQueueLength() {
	setFree(p.a(), p.pods-1)
	setFree(p.b(), p.pods-1)
	p.mustHold(rankQueue, p.rankOf(p.a().Name).Reason == placement.Waits, "%+v", p.rankOf(p.a().Name))
	if p.pods == 1 {
		return // nothing of it is free: then they are equals
	}
	clusterQueue(p.a()).Waiting, clusterQueue(p.b()).Waiting = waitingCounts(p.rand.IntN(3)), waitingCounts(20)
	p.expectFirst(rankQueue)
}

func (p *rankPair) checkPriority() {
	setFree(p.b(), 0)
	flavorCapacity(p.b()).Preempting = []placement.Step{{Priority: 1, Free: oneAmount(p.pods)}}
	p.mustHold(rankPriority, p.rankOf(p.b().Name).Reason == placement.Preempts, "%+v", p.rankOf(p.b().Name))
	p.request.Priority = 0
	p.mustHold(rankPriority, p.rankOf(p.b().Name).Reason == placement.Waits, "%+v", p.rankOf(p.b().Name))
}

func (p *rankPair) checkNameOrder() {
	list := p.rank(p.request, p.clusters)
	p.mustHold(rankName, len(list) == 2 && list[0].Score == list[1].Score && list[0].Cluster == "x", "%+v", list)
}
