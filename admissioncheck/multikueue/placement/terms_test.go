package placement

import (
	"testing"

	"switchyard.dev/worker/admission"
)

func TestTermsChangeWithWhatDecidesAndNothingElse(t *testing.T) {
	main := admission.Key{Namespace: "team", Name: "main"}
	base := some("w1")
	tests := map[string]struct {
		change func(c *Cluster, q *Queue)
		same   bool
	}{
		"other figures":    {func(_ *Cluster, q *Queue) { q.Groups = []Group{group(room("a100", 1, 2, 8))} }, true},
		"a workload waits": {func(_ *Cluster, q *Queue) { q.Waiting, q.Strict = []PendingClass{{Count: 1}}, true }, true},
		"a LocalQueue of others": {func(c *Cluster, _ *Queue) {
			c.Capacity.Locals = append(c.Capacity.Locals, LocalQueue{Key: admission.Key{Namespace: "z"}})
		}, true},
		"a ClusterQueue of others": {func(c *Cluster, _ *Queue) { c.Capacity.Queues = append(c.Capacity.Queues, Queue{Name: "other"}) }, true},
		"a flavor of others": {func(c *Cluster, _ *Queue) {
			c.Capacity.Flavors = append(c.Capacity.Flavors, admission.Flavor{Name: "z"})
		}, true},
		"the kinds":               {func(c *Cluster, _ *Queue) { c.Capacity.Kinds = []string{"Job.v1.batch"} }, false},
		"the LocalQueue goes":     {func(c *Cluster, _ *Queue) { c.Capacity.Locals = nil }, false},
		"the LocalQueue closes":   {func(c *Cluster, _ *Queue) { c.Capacity.Locals[0].Closed = "it is stopped" }, false},
		"the LocalQueue moves":    {func(c *Cluster, _ *Queue) { c.Capacity.Locals[0].Queue = "other" }, false},
		"the ClusterQueue goes":   {func(c *Cluster, _ *Queue) { c.Capacity.Queues = nil }, false},
		"the ClusterQueue closes": {func(_ *Cluster, q *Queue) { q.Closed = "it is on hold" }, false},
		"the quota is raised":     {func(_ *Cluster, q *Queue) { q.Groups = []Group{group(room("a100", 8, 8, 9))} }, false},
		"another flavor":          {func(_ *Cluster, q *Queue) { q.Groups = []Group{group(room("a100", 8, 8, 8), room("b", 0, 0, 0))} }, false},
		"a resource more": {func(_ *Cluster, q *Queue) {
			q.Groups = []Group{{Resources: []string{gpu, "cpu"}, Flavors: q.Groups[0].Flavors}}
		}, false},
		"the flavor goes":           {func(c *Cluster, _ *Queue) { c.Capacity.Flavors = nil }, false},
		"the flavor has a taint":    {func(c *Cluster, _ *Queue) { c.Capacity.Flavors[0].Taints = []admission.Taint{{Key: "spot"}} }, false},
		"uncovered ones may be had": {func(c *Cluster, _ *Queue) { c.Capacity.IgnoresUncovered = true }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			other := base.but(test.change)
			if same := other.Capacity.TermsFor(main) == base.Capacity.TermsFor(main); same != test.same {
				t.Errorf("the same terms: %v", same)
			}
		})
	}
	if terms := (*Capacity)(nil).TermsFor(main); terms != 0 {
		t.Errorf("of nothing: %d", terms)
	}
}

func group(rooms ...FlavorQuota) Group { return Group{Resources: []string{gpu}, Flavors: rooms} }
