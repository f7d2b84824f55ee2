package admission

import (
	"slices"

	"switchyard.dev/worker/admission/quota"
)

// Menu is what a queue has to offer: its resource groups with flavors looked up and quota cells at hand, so that
// assigning flavors looks nothing up by name but resources. The snapshot keeps one per queue until something in it
// changes.
type Menu struct {
	Queue *Queue
	// Node is the queue in the quota tree.
	Node   *quota.Node
	Groups []MenuGroup
	// Preempts is whether some policy lets the queue's workloads evict others.
	Preempts bool
	// Admitted is what a workload is told that the queue admits.
	Admitted string
	// columns finds a resource.
	columns map[string]Column
}

// MenuGroup is a resource group.
type MenuGroup struct {
	// LabelKeys are the node label keys that some flavor of the group has, sorted: the only ones that node selectors and
	// affinity are held against (contract: kueue-api.md 4.6).
	LabelKeys []string
	Flavors   []MenuFlavor
}

// MenuFlavor is a flavor of a group.
type MenuFlavor struct {
	Name string
	// Flavor is nil if there is no such ResourceFlavor.
	Flavor *Flavor
	// Cells are in the order of the group's resources.
	Cells []*quota.Cell
}

// Column is where a menu has a resource: the index of its group, and its index in the Cells of that group's flavors.
type Column struct {
	Group int
	Index int
}

// Find returns the column of a resource and whether any group covers it.
func (m *Menu) Find(resource string) (Column, bool) {
	c, found := m.columns[resource]
	return c, found
}

// Menu returns the menu of a ClusterQueue, nil if there is no such queue. It is valid until the snapshot's next mutation
// of a queue, a cohort or a flavor.
func (s *Snapshot) Menu(queue string) *Menu {
	return s.menuAt(s.peek(queue))
}

// MenuFor returns the menu of the ClusterQueue that the workload waits in, nil if there is no such queue.
func (s *Snapshot) MenuFor(w *Waiter) *Menu { return s.menuAt(w.desk) }

func (s *Snapshot) menuAt(d *desk) *Menu {
	if d.queue == nil {
		return nil
	}
	if d.menu == nil {
		d.menu = s.newMenu(d.queue)
	}
	return d.menu
}

func (s *Snapshot) newMenu(q *Queue) *Menu {
	m := &Menu{
		Queue: q, Node: s.quota.Account(q.Name), Preempts: q.Preemption.some(), columns: map[string]Column{},
		Admitted: "Quota reserved in ClusterQueue " + q.Name,
	}
	for i, group := range q.Groups {
		for j, resource := range group.Resources {
			m.columns[resource] = Column{Group: i, Index: j}
		}
		m.Groups = append(m.Groups, s.menuGroup(m.Node, group))
	}
	return m
}

func (s *Snapshot) menuGroup(node *quota.Node, group ResourceGroup) MenuGroup {
	var g MenuGroup
	for _, f := range group.Flavors {
		flavor := MenuFlavor{Name: f.Flavor, Flavor: s.flavors[f.Flavor]}
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
