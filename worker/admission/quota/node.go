package quota

// QueueNode returns the node of a queue, nil if there is none.
func (t *Tree) QueueNode(name string) *Node {
	t.recompute()
	return t.queues[name]
}

// UnsettledQueueNode returns the node of a queue like QueueNode, for its cells and for booking only: what follows from the shape of the
// forest may be out of date, so that asking after every change of a burst does not settle it every time.
func (t *Tree) UnsettledQueueNode(queue string) *Node { return t.queues[queue] }

// CohortNode returns the node of a cohort, declared or only named by others; nil if there is none.
func (t *Tree) CohortNode(name string) *Node {
	t.recompute()
	return t.cohorts[name]
}

// SetQueueWeight sets the weight of a queue that was set, by which its share is divided.
func (t *Tree) SetQueueWeight(name string, w Weight) { t.ensureQueue(name).weight = w }

// SetCohortWeight sets the weight of a cohort that was set.
func (t *Tree) SetCohortWeight(name string, w Weight) { t.ensureCohort(name).weight = w }

// Name returns the name of the queue or cohort. A queue and a cohort may have the same.
func (n *Node) Name() string { return n.name }

// IsQueue reports whether the node is a queue, a leaf.
func (n *Node) IsQueue() bool { return !n.isCohort }

// Parent returns the cohort above, nil for a root and below a cycle of cohorts.
func (n *Node) Parent() *Node {
	if n.inCycle {
		return nil
	}
	return n.parent
}

// Root returns the top of the node's tree, the node itself if nothing is above it.
func (n *Node) Root() *Node { return n.root }

// Depth returns the distance from the root.
func (n *Node) Depth() int { return n.depth }

// Children returns the nodes right below, cohorts first, each by name. The caller must not change it.
func (n *Node) Children() []*Node { return n.children }

// Reserve is Tree.Reserve for the queue that the node is.
func (n *Node) Reserve(u Usage) {
	n.root.reserveCount++
	n.reserve(u)
}

// Version returns the version of the node's tree; equal versions have equal numbers everywhere.
func (n *Node) Version() Version {
	n.tree.recompute()
	return Version{generation: n.tree.generation, reserveCount: n.root.reserveCount, releaseCount: n.root.releaseCount}
}

// Cell returns the node's account of a flavor-resource, nil if neither it nor a node below grants or uses it.
func (n *Node) Cell(name FlavorResource) *Cell { return n.cells[name] }
