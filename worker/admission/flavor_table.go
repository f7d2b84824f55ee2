package admission

import (
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// FlavorTable is what a queue has to offer: its resource groups with flavors looked up and quota cells at hand, so that
// assigning flavors looks nothing up by name but resources. The snapshot keeps one per queue until something in it
// changes.
type FlavorTable struct {
	Queue *ClusterQueue
	// Node is the queue in the quota tree.
	Node   *quota.Node
	Groups []FlavorTableGroup
	// CanPreempt is whether some policy lets the queue's workloads evict others.
	CanPreempt bool
	// AdmittedMessage is what a workload is told that the queue admits.
	AdmittedMessage string
	// resources finds a resource.
	resources map[string]ResourceIndex
}

// FlavorTableGroup is a resource group.
type FlavorTableGroup struct {
	// LabelKeys are the node label keys that some flavor of the group has, sorted: the only ones that node selectors and
	// affinity are held against (contract: kueue-api.md 4.6).
	LabelKeys []string
	Flavors   []FlavorTableEntry
}

// FlavorTableEntry is a flavor of a group.
type FlavorTableEntry struct {
	Name string
	// Flavor is nil if there is no such ResourceFlavor.
	Flavor *Flavor
	// Cells are in the order of the group's resources.
	Cells []*quota.Cell
}

// ResourceIndex is where a flavor table has a resource: the index of its group, and its index in the Cells of that group's flavors.
type ResourceIndex struct {
	Group int
	Index int
}

// FindResource returns the column of a resource and whether any group covers it.
func (m *FlavorTable) FindResource(resource string) (ResourceIndex, bool) {
	c, found := m.resources[resource]
	return c, found
}

// FlavorTable returns the flavor table of a ClusterQueue, nil if there is no such queue. It is valid until the snapshot's next mutation
// of a queue, a cohort or a flavor.
func (s *Snapshot) FlavorTable(queue string) *FlavorTable {
	return s.flavorTableOf(s.lookupQueueState(queue))
}

// FlavorTableFor returns the flavor table of the ClusterQueue that the workload waits in, nil if there is no such queue.
func (s *Snapshot) FlavorTableFor(w *PendingWorkload) *FlavorTable {
	return s.flavorTableOf(w.queueState)
}

// flavorCatalog has the ResourceFlavors, and makes the flavor tables of ClusterQueues.
type flavorCatalog struct {
	quota   *quota.Tree
	flavors map[string]*Flavor
}

func (c *flavorCatalog) flavorTableOf(d *queueState) *FlavorTable {
	if d.clusterQueue == nil {
		return nil
	}
	if d.flavorTable == nil {
		d.flavorTable = c.newFlavorTable(d.clusterQueue)
	}
	return d.flavorTable
}

// newFlavorTable makes the flavor table of a ClusterQueue. It holds until the queue or one of its flavors changes.
func (c *flavorCatalog) newFlavorTable(q *ClusterQueue) *FlavorTable {
	m := &FlavorTable{
		Queue: q, Node: c.quota.UnsettledQueueNode(q.Name), CanPreempt: q.Preemption.isEnabled(), resources: map[string]ResourceIndex{},
		AdmittedMessage: "Quota reserved in ClusterQueue " + q.Name,
	}
	for i, group := range q.Groups {
		for j, resource := range group.Resources {
			m.resources[resource] = ResourceIndex{Group: i, Index: j}
		}
		m.Groups = append(m.Groups, c.newFlavorTableGroup(m.Node, group))
	}
	return m
}

// newFlavorTableGroup makes the part of the table for one resource group, with the quota cells of its flavors.
func (c *flavorCatalog) newFlavorTableGroup(node *quota.Node, group ResourceGroup) FlavorTableGroup {
	var g FlavorTableGroup
	for _, f := range group.Flavors {
		flavor := FlavorTableEntry{Name: f.Flavor, Flavor: c.flavors[f.Flavor]}
		for _, resource := range group.Resources {
			cell := node.Cell(FlavorResource{Flavor: f.Flavor, Resource: resource})
			if cell == nil {
				panic("admission: every flavor of a group has a quota for every resource of the group")
			}
			flavor.Cells = append(flavor.Cells, cell)
		}
		g.Flavors = append(g.Flavors, flavor)
		if flavor.Flavor != nil {
			for _, label := range flavor.Flavor.Labels {
				g.LabelKeys = append(g.LabelKeys, label.Key)
			}
		}
	}
	slices.Sort(g.LabelKeys)
	g.LabelKeys = slices.Compact(g.LabelKeys)
	return g
}

// Flavor returns a ResourceFlavor as last upserted.
func (c *flavorCatalog) Flavor(name string) (Flavor, bool) {
	if f, found := c.flavors[name]; found {
		return *f, true
	}
	return Flavor{}, false
}
