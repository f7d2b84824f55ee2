package placement

import (
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
	// InFlight is what the hub has offered or given to the cluster and Capacity does not count yet. See Ledger.
	InFlight []Claim
	// Cordoned clusters get nothing new.
	Cordoned bool
	// Weight is how much the user likes the cluster, from 0 to 100; DefaultWeight if nobody has said.
	Weight int
	// Troubles counts what went wrong with the cluster lately: lost connections, calls that failed, offers that it refused.
	Troubles int
}

// DefaultWeight is the Weight of a cluster that nobody has given one.
const DefaultWeight = 10

// Claim is an amount that the hub has under way to a ClusterQueue.
type Claim struct {
	// Queue is the ClusterQueue on the cluster.
	Queue string
	// Flavor is the one it has got there; empty while nobody knows.
	Flavor   string
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
	// Queues are the ClusterQueues by name.
	Queues []Queue
	// Locals are the LocalQueues by namespace and name. What is missing does not exist.
	Locals []LocalQueue
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
	Name string
	// Closed says why it admits nothing at all; empty if it does.
	Closed string
	// Strict is set if nobody passes a workload that waits at the head.
	Strict bool
	Groups []Group
	// Waiting are those who wait there, by priority, highest first.
	Waiting []Waiting
}

// Group is a resource group: its resources always get the same flavor.
type Group struct {
	Resources []string
	// Flavors are in the order in which the cluster tries them.
	Flavors []Room
}

// Room is what is free of one flavor; its lists have an amount for each resource of the group, in the group's order.
type Room struct {
	Flavor string
	// Own is free within the ClusterQueue's own quota, and Free what can be used now without evicting anybody: Own, and what
	// can be borrowed.
	Own  []amount.Amount
	Free []amount.Amount
	// Largest is the most that one pod set could be given if nobody else used anything.
	Largest []amount.Amount
	// Preempting is what can be used by evicting others, by rising priority; nil if nothing, or if that is not known.
	Preempting []Step
}

// Step is what whoever has at least the priority can use by evicting others, what is free anyway included.
type Step struct {
	Priority int32
	Free     []amount.Amount
}

// Waiting counts the workloads of one priority that wait.
type Waiting struct {
	Priority int32
	Count    int
	// Since is when the first of them was queued, by the cluster's clock.
	Since time.Time
}
