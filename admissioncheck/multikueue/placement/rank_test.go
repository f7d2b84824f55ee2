package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// some has 8 GPUs of its own, all of them free.
func some(name string) Cluster { return cluster(name, room("a100", 8, 8, 8)) }

// costing asks for a GPU and so many credits.
func costing(credits amount.Amount) admission.PodSet {
	set := pods(1, 1)
	set.Requests = amount.NewVector(amount.Request{Resource: gpu, Amount: 1}, amount.Request{Resource: "credits", Amount: credits})
	return set
}

// assuming is the request with resources that no pod asks for.
func assuming(r Request, resources ...string) Request {
	r.Assumed = resources
	return r
}

// covering has so much of another resource.
func covering(c Cluster, resource string, free amount.Amount) Cluster {
	return c.but(func(_ *Cluster, q *Queue) {
		q.Groups = append(q.Groups[:1:1], Group{Resources: []string{resource}, Flavors: []FlavorQuota{room("a100", free, free, free)}})
	})
}

func degraded(c Cluster) Cluster {
	c.Degraded = "its answers are overdue"
	return c
}

func onTrial(c Cluster) Cluster {
	c.Degraded, c.OnTrial = "calls to it fail", true
	return c
}

func TestRank(t *testing.T) {
	one, gang := request(pods(1, 1)), request(pods(4, 1))
	tests := map[string]struct {
		request Request
		fleet   []Cluster
		want    string
	}{
		"equal clusters are ranked by name": {one, []Cluster{some("w2"), some("w1")}, "w1 Fits, w2 Fits"},
		"no preemption before preemption, own quota before borrowed, and waiting is last": {
			request(pods(4, 1)), []Cluster{
				cluster("waits", room("a", 0, 0, 8)),
				cluster("preempts", room("a", 0, 0, 8).evicting(0, 8)),
				{Name: "unknown"},
				cluster("borrows", room("a", 2, 8, 8)),
				cluster("owns", room("a", 8, 8, 8)),
			},
			"owns Fits, borrows Borrows, unknown CapacityUnknown, preempts Preempts, waits Waits",
		},
		"a priority below the step does not preempt": {
			one, []Cluster{cluster("w1", room("a", 0, 0, 8).evicting(1, 8))}, "w1 Waits",
		},
		"a gang goes where it leaves the smallest hole": {
			gang, []Cluster{cluster("big", room("a", 100, 100, 100)), cluster("tight", room("a", 5, 5, 100))},
			"tight Fits, big Fits",
		},
		"single pods spread to where the larger part is left": {
			one, []Cluster{cluster("full", room("a", 5, 5, 100)), cluster("idle", room("a", 8, 8, 10))},
			"idle Fits, full Fits",
		},
		"a heavier cluster is preferred until it is that much fuller": {
			one, []Cluster{
				cluster("heavy", room("a", 50, 50, 100)).but(func(c *Cluster, _ *Queue) { c.Weight = 30 }),
				cluster("light", room("a", 100, 100, 100)),
			},
			"heavy Fits, light Fits",
		},
		"weight does not outdo fit": {
			gang, []Cluster{
				cluster("heavy", room("a", 0, 0, 8)).but(func(c *Cluster, _ *Queue) { c.Weight = 100 }),
				some("light").but(func(c *Cluster, _ *Queue) { c.Weight = 0 }),
			},
			"light Fits, heavy Waits",
		},
		"preferred clusters come first, in the order named, also if they have to borrow": {
			preferring(one, "w3", "w2"), []Cluster{some("w1"), some("w2"), cluster("w3", room("a", 0, 8, 8))},
			"w3 Borrows, w2 Fits, w1 Fits",
		},
		"preference does not outdo fit": {
			preferring(one, "w2"), []Cluster{some("w1"), cluster("w2", room("a", 0, 0, 8).evicting(0, 8))},
			"w1 Fits, w2 Preempts",
		},
		"a cluster in trouble comes after a sound one": {
			one, []Cluster{some("w1").but(func(c *Cluster, _ *Queue) { c.Troubles = 2 }), some("w2")}, "w2 Fits, w1 Fits",
		},
		"one on trial is believed": {
			one, []Cluster{some("w2"), degraded(some("w3")), onTrial(some("w1"))}, "w1 Fits, w2 Fits, w3 CapacityUnknown",
		},
		"of a degraded cluster nothing is known any more, least of all": {
			one, []Cluster{
				degraded(some("fits")), {Name: "unknown"}, degraded(Cluster{Name: "nothing"}), cluster("preempts", room("a", 0, 0, 8).evicting(0, 8)),
				degraded(cluster("waits", room("a", 0, 0, 8))),
			},
			"unknown CapacityUnknown, fits CapacityUnknown, nothing CapacityUnknown, preempts Preempts, waits Waits",
		},
		"of those where it waits the shorter line is first": {
			one, []Cluster{
				cluster("long", room("a", 0, 0, 8)).but(func(_ *Cluster, q *Queue) { q.Waiting = []PendingClass{{Priority: 0, Count: 9}} }),
				cluster("short", room("a", 0, 0, 8)).but(func(_ *Cluster, q *Queue) {
					q.Waiting = []PendingClass{{Priority: 0, Count: 2}, {Priority: -1, Count: 90}}
				}),
			},
			"short Waits, long Waits",
		},
		"no workload passes the head of a strict queue": {
			one, []Cluster{
				some("w1").but(func(_ *Cluster, q *Queue) { q.Strict, q.Waiting = true, []PendingClass{{Priority: 0, Count: 1}} }), some("w2"),
			},
			"w2 Fits, w1 Waits",
		},
		"a workload does not wait behind its own copy": {
			one, []Cluster{some("w1").but(func(c *Cluster, q *Queue) {
				q.Strict, q.Waiting, c.Offered = true, []PendingClass{{Priority: 0, Count: 1}}, true
			})},
			"w1 Fits",
		},
		"unknown clusters take turns by what is in flight": {
			one, []Cluster{{Name: "w1", InFlight: []Claim{{Resource: gpu, Amount: 3}}}, {Name: "w2"}}, "w2 CapacityUnknown, w1 CapacityUnknown",
		},
		"what is in flight is taken": {
			gang, []Cluster{some("w1").but(func(c *Cluster, _ *Queue) {
				c.InFlight = []Claim{{Queue: "cq", Flavor: "a100", Resource: gpu, Amount: 5}, {Queue: "other", Resource: gpu, Amount: 8}}
			}), cluster("w2", room("a", 0, 8, 8))},
			"w2 Borrows, w1 Waits",
		},
		"what is in flight without a flavor fills the flavors in order": {
			gang, []Cluster{cluster("w1", room("a", 4, 4, 8), room("b", 4, 4, 8)).but(func(c *Cluster, _ *Queue) {
				c.InFlight = []Claim{{Queue: "cq", Resource: gpu, Amount: 4}}
			})},
			"w1 Fits",
		},
		"what only rules of others make of a pod rules no cluster out that does not know it, and is counted by one that does": {
			assuming(request(costing(8)), "credits"),
			[]Cluster{some("w1"), covering(some("w2"), "credits", 7), covering(some("w3"), "credits", 8)}, "w1 Fits, w3 Fits, -w2 TooLarge",
		},
		"what a pod asks for itself has to be known": {
			request(costing(8)), []Cluster{some("w1"), covering(some("w2"), "credits", 8)}, "w2 Fits, -w1 NoFlavor",
		},
		"two pod sets share what is free": {
			request(pods(5, 1), pods(4, 1)), []Cluster{some("w1"), cluster("w2", room("a", 0, 9, 9))}, "w2 Borrows, -w1 TooLarge",
		},
		"pod sets of one group get one flavor": {
			request(grouped(pods(3, 1)), grouped(pods(3, 1))),
			[]Cluster{cluster("split", room("a", 4, 4, 8), room("b", 4, 4, 8)), cluster("whole", room("a", 0, 6, 8))},
			"whole Borrows, split Waits",
		},
		"a gang that may be reduced is not too large": {
			request(reducible(pods(16, 1), 4)), []Cluster{some("w1")}, "w1 Waits",
		},
		"an empty fleet has no choices": {one, nil, ""},
		"who asks for nothing fits":     {request(), []Cluster{some("w1")}, "w1 Fits"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, show(Rank(test.request, test.fleet))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func preferring(r Request, clusters ...string) Request {
	r.Prefer = clusters
	return r
}

func grouped(p admission.PodSet) admission.PodSet {
	p.Group = "g"
	return p
}

func reducible(p admission.PodSet, least int32) admission.PodSet {
	p.MinCount = least
	return p
}

func TestWhatRulesAClusterOut(t *testing.T) {
	tests := map[string]struct {
		change  func(r *Request, c *Cluster, q *Queue)
		reason  Reason
		message string
	}{
		"it is cordoned": {
			func(_ *Request, c *Cluster, _ *Queue) { c.Cordoned = true }, Cordoned, "the cluster is cordoned",
		},
		"it has refused": {
			func(r *Request, _ *Cluster, _ *Queue) { r.Refused = []Refusal{{"other", "no"}, {"w1", "no quota"}} },
			Refused, "the cluster has refused the workload: no quota",
		},
		"it has refused without a word": {
			func(r *Request, _ *Cluster, _ *Queue) { r.Refused = []Refusal{{Cluster: "w1"}} }, Refused, "the cluster has refused the workload",
		},
		"the kind is not served": {
			func(_ *Request, c *Cluster, _ *Queue) { c.Capacity.Kinds = []string{"JobSet.v1alpha2.jobset.x-k8s.io"} },
			KindNotServed, "jobs of kind Job.v1.batch are not served there",
		},
		"there is no such LocalQueue": {
			func(r *Request, _ *Cluster, _ *Queue) { r.LocalQueue = "side" }, NoLocalQueue, "LocalQueue team/side doesn't exist there",
		},
		"the LocalQueue is stopped": {
			func(_ *Request, c *Cluster, _ *Queue) { c.Capacity.Locals[0].Closed = "it is on hold" },
			QueueClosed, "LocalQueue team/main admits nothing: it is on hold",
		},
		"the ClusterQueue is stopped": {
			func(_ *Request, _ *Cluster, q *Queue) { q.Closed = "it is on hold" },
			QueueClosed, "ClusterQueue cq admits nothing: it is on hold",
		},
		"there is no ClusterQueue": {
			func(_ *Request, c *Cluster, _ *Queue) { c.Capacity.Locals[0].Queue = "gone" },
			QueueClosed, "ClusterQueue gone doesn't exist there",
		},
		"no group has the resource": {
			func(r *Request, _ *Cluster, _ *Queue) {
				r.PodSets[0].Requests = amount.NewVector(amount.Request{Resource: "cpu", Amount: 1000})
			}, NoFlavor, "resource cpu unavailable in ClusterQueue",
		},
		"the flavor is tainted": {
			func(_ *Request, c *Cluster, _ *Queue) {
				c.Capacity.Flavors[0].Taints = []admission.Taint{{Key: "spot", Effect: admission.NoSchedule}}
			}, NoFlavor, "untolerated taint {spot  NoSchedule <nil>} in flavor a100",
		},
		"the flavor is for other nodes": {
			func(r *Request, c *Cluster, _ *Queue) {
				c.Capacity.Flavors[0].Labels = []admission.Label{{Key: "gpu", Value: "a100"}}
				r.PodSets[0].NodeSelector = []admission.Label{{Key: "gpu", Value: "h100"}}
			}, NoFlavor, "flavor a100 doesn't match node affinity",
		},
		"the flavor does not exist": {
			func(_ *Request, c *Cluster, _ *Queue) { c.Capacity.Flavors = nil }, NoFlavor, "flavor a100 not found",
		},
		"it is more than there is": {
			func(r *Request, _ *Cluster, _ *Queue) { r.PodSets[0].Count = 9 },
			TooLarge, "9 nvidia.com/gpu of flavor a100 are more than ClusterQueue cq can have",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(pods(1, 1))
			c := some("w1").but(func(c *Cluster, q *Queue) { test.change(&r, c, q) })
			want := []Choice{{Cluster: "w1", Reason: test.reason, Message: test.message}}
			if diff := cmp.Diff(want, Rank(r, []Cluster{c})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNotKnownRulesNothingOut(t *testing.T) {
	tests := map[string]func(r *Request, c *Cluster){
		"the flavors": func(_ *Request, c *Cluster) { c.Capacity.Flavors, c.Capacity.FlavorsUnknown = nil, true },
		"the kinds":   func(_ *Request, c *Cluster) { c.Capacity.Kinds = nil },
		"the kind":    func(r *Request, c *Cluster) { r.Kind, c.Capacity.Kinds = "", []string{"Other.v1.batch"} },
		"which resources are counted": func(r *Request, c *Cluster) {
			c.Capacity.IgnoresUncovered = true
			r.PodSets[0].Requests = amount.NewVector(r.PodSets[0].Requests[0], amount.Request{Resource: "cpu", Amount: 1000})
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(pods(1, 1))
			c := some("w1").but(func(c *Cluster, _ *Queue) { change(&r, c) })
			if diff := cmp.Diff("w1 Fits", show(Rank(r, []Cluster{c}))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAChoiceSaysWhyAndWhatItWouldTake(t *testing.T) {
	queued := func(c *Cluster, q *Queue) { q.Waiting, q.Strict = []PendingClass{{Count: 3}}, c.Name == "strict" }
	fleet := []Cluster{
		cluster("owns", room("a", 8, 8, 8)),
		cluster("borrows", room("a", 2, 6, 8)),
		{Name: "unknown"},
		cluster("preempts", room("a", 0, 3, 8).evicting(0, 8)),
		cluster("strict", room("a", 8, 8, 8)).but(queued),
		cluster("waits", room("a", 1, 1, 8)).but(queued),
	}
	claims := []Claim{{Queue: "cq", Flavor: "a", Resource: gpu, Amount: 4}}
	want := []Choice{
		{Cluster: "owns", Reason: Fits, Claims: claims, Message: "4 nvidia.com/gpu of flavor a fit in ClusterQueue cq: 8 free"},
		{Cluster: "borrows", Reason: Borrows, Claims: claims,
			Message: "4 nvidia.com/gpu of flavor a fit in ClusterQueue cq by borrowing: 6 free"},
		{Cluster: "unknown", Reason: Unknown, Claims: []Claim{{Resource: gpu, Amount: 4}}, Message: "what the cluster has room for is not known"},
		{Cluster: "preempts", Reason: Preempts, Claims: claims,
			Message: "4 nvidia.com/gpu of flavor a fit in ClusterQueue cq if others are evicted: 3 free"},
		{Cluster: "strict", Reason: Waits, Claims: claims, Message: "3 wait before it in ClusterQueue cq, which nobody passes"},
		{Cluster: "waits", Reason: Waits, Claims: claims,
			Message: "4 nvidia.com/gpu of flavor a have to wait for room in ClusterQueue cq: 1 free, 3 wait before it"},
	}
	got := Rank(request(pods(4, 1)), fleet)
	for i := range got {
		if got[i].Score <= 0 || !got[i].Eligible || got[i].Preempting() != (got[i].Reason == Preempts) {
			t.Errorf("%s: score %d, eligible %v", got[i].Cluster, got[i].Score, got[i].Eligible)
		}
		got[i].Score, got[i].Eligible = 0, false
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
