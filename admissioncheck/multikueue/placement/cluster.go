package placement

import (
	"cmp"
	"slices"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

// Cluster is one cluster of the fleet.
type Cluster struct {
	// Name is the name of the MultiKueueCluster.
	Name string
	// Capacity is what the cluster has room for; nil if nothing is known of it, which keeps it from nothing. It may be shared
	// by any number of Clusters and is never changed.
	Capacity *Capacity
	// InFlight is what the hub has offered or given to the cluster and Capacity does not count yet. See UsageInFlight.
	InFlight []Claim
	// Offered is set if the cluster has a copy of this very workload, which is among those that wait there; what it takes is
	// not part of InFlight.
	Offered bool
	// Cordoned clusters get nothing new.
	Cordoned bool
	// Degraded says why the cluster may not do what is asked of it; then what it has said of its room is not believed. Empty if
	// nothing is wrong with it. OnTrial is set when it is to be given something all the same, and what it has said is believed.
	Degraded string
	OnTrial  bool
	// Weight is how much the user likes the cluster, from 0 to 100; DefaultWeight if the user has not said.
	Weight int
	// Troubles counts the offers in a row that the cluster neither admitted nor refused in time lately.
	Troubles int
}

// isShunned reports whether other clusters are preferred for how this one does what it is asked.
func (c Cluster) isShunned() bool { return c.Degraded != "" && !c.OnTrial }

// DefaultWeight is the Weight of a cluster that was given none.
const DefaultWeight = 10

// Claim is an amount that the hub has under way to a ClusterQueue.
type Claim struct {
	// Queue is the ClusterQueue on the cluster.
	Queue string
	// Flavor is the one it has got there; empty while that is not known.
	Flavor string
	// Resource is the name of the resource, as pods request it, and Amount how much of it is under way.
	Resource string
	Amount   amount.Amount
}

// Capacity is what a cluster has room for, as it said itself or as it was derived from the outside.
type Capacity struct {
	// At is when it was observed, by the cluster's own clock; zero if that is not known.
	At time.Time
	// Kinds are those of the jobs that the cluster serves, sorted, each as Kind.version.group; nil if that is not known.
	Kinds []string
	// Flavors are the ResourceFlavors by name. Those missing do not exist there, unless FlavorsUnknown.
	Flavors        []admission.Flavor
	FlavorsUnknown bool
	// IgnoresUncovered is set if the cluster may leave resources out of account that no group covers.
	IgnoresUncovered bool
	// Queues are the ClusterQueues by name.
	Queues []Queue
	// Locals are the LocalQueues by namespace and name. What is missing does not exist.
	Locals []LocalQueue
}

// Counts reports whether a reservation that was made at the time, by the cluster's clock and given in whole seconds as
// conditions have it, is part of the figures. False while that is not certain.
func (c *Capacity) Counts(reserved time.Time) bool {
	return c != nil && !c.At.IsZero() && !c.At.Before(reserved.Add(time.Second))
}

// localQueue returns the LocalQueue of the key, nil if there is none.
func (c *Capacity) localQueue(key admission.Key) *LocalQueue {
	i, found := slices.BinarySearchFunc(c.Locals, key, func(l LocalQueue, k admission.Key) int { return l.Compare(k) })
	if !found {
		return nil
	}
	return &c.Locals[i]
}

// queue returns the ClusterQueue of the name, nil if there is none.
func (c *Capacity) queue(name string) *Queue {
	i, found := slices.BinarySearchFunc(c.Queues, name, func(q Queue, n string) int { return cmp.Compare(q.Name, n) })
	if !found {
		return nil
	}
	return &c.Queues[i]
}

// flavor returns the ResourceFlavor of the name, nil if there is none.
func (c *Capacity) flavor(name string) *admission.Flavor {
	i, found := slices.BinarySearchFunc(c.Flavors, name, func(f admission.Flavor, n string) int { return cmp.Compare(f.Name, n) })
	if !found {
		return nil
	}
	return &c.Flavors[i]
}

// LocalQueue is the way to a ClusterQueue.
type LocalQueue struct {
	admission.Key
	// Queue is the ClusterQueue it points to.
	Queue string
	// Closed says why nothing gets through; empty if something does.
	Closed string
}

// Queue is what a ClusterQueue has room for.
type Queue struct {
	// Name is the name of the ClusterQueue on its cluster.
	Name string
	// Closed says why it admits nothing at all; empty if it does.
	Closed string
	// Strict is set if no workload passes one that waits at the head.
	Strict bool
	// Groups are its resource groups. A resource is in at most one of them.
	Groups []Group
	// Waiting are the workloads that wait there, by priority, highest first.
	Waiting []PendingClass
}

// Group is a resource group: its resources always get the same flavor.
type Group struct {
	// Resources are the names of the resources that the group covers. The lists of each FlavorQuota follow their order.
	Resources []string
	// Flavors are in the order in which the cluster tries them.
	Flavors []FlavorQuota
}

// FlavorQuota is what is free of one flavor; its lists have an amount for each resource of the group, in the group's order.
type FlavorQuota struct {
	// Flavor is the name of the ResourceFlavor.
	Flavor string
	// Nominal is free within the ClusterQueue's own quota, and Free what can be used now without evicting others: Nominal, and
	// what can be borrowed.
	Nominal []amount.Amount
	Free    []amount.Amount
	// Potential is what may be free for all that is known, Free included; nil if Free is all there is.
	Potential []amount.Amount
	// Largest is the most that one pod set could be given if no other workload used anything.
	Largest []amount.Amount
	// Preempting is what can be used by evicting others, by rising priority; nil if nothing, or if that is not known.
	Preempting []Step
}

// Step is what a workload of at least the priority can use by evicting others, what is free anyway included.
type Step struct {
	// Priority is the lowest that may evict for it.
	Priority int32
	// Free is the amount of each resource of the group, in its order.
	Free []amount.Amount
}

// countAhead counts those that wait before a workload of the priority that comes now.
func (q *Queue) countAhead(priority int32) int {
	n := 0
	for _, w := range q.Waiting {
		if w.Priority >= priority {
			n += w.Count
		}
	}
	return n
}

// PendingClass counts the workloads of one priority that wait.
type PendingClass struct {
	// Priority is that of each of them, and Count how many there are.
	Priority int32
	Count    int
	// Since is when the first of them was queued, by the cluster's clock.
	Since time.Time
}
