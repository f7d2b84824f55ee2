package placement

// Reason is why a cluster has its rank. The set is closed: reasons become metric labels.
type Reason string

// Reasons of clusters that may be offered the workload, from the best to the worst.
const (
	// Fits: there is room within the ClusterQueue's own quota.
	Fits Reason = "Fits"
	// Borrows: there is room, some of it borrowed.
	Borrows Reason = "Borrows"
	// Unknown: nothing is known of the cluster's room, or not enough.
	Unknown Reason = "CapacityUnknown"
	// Preempts: there is room if others are evicted.
	Preempts Reason = "Preempts"
	// Waits: there is room once others have finished, or have been let go first.
	Waits Reason = "Waits"
)

// Reasons of clusters that the workload cannot run on as things are.
const (
	// Cordoned: the cluster gets nothing new.
	Cordoned Reason = "Cordoned"
	// Refused: the cluster has refused the workload.
	Refused Reason = "Refused"
	// KindNotServed: the cluster does not serve jobs of this kind.
	KindNotServed Reason = "KindNotServed"
	// NoLocalQueue: the cluster has no LocalQueue, or no namespace, of the workload's.
	NoLocalQueue Reason = "NoLocalQueue"
	// QueueClosed: the LocalQueue or its ClusterQueue admits nothing.
	QueueClosed Reason = "QueueClosed"
	// NoFlavor: no flavor of the ClusterQueue is for these pods: labels, taints, or a resource that none covers.
	NoFlavor Reason = "NoFlavor"
	// TooLarge: it asks for more than it would be given if it were alone there.
	TooLarge Reason = "TooLarge"
)

// Choice is the answer for one cluster.
type Choice struct {
	// Cluster is its name.
	Cluster string
	// Eligible is whether the cluster may be offered the workload.
	Eligible bool
	// Reason is why: one of the first list if Eligible, and one of the second otherwise.
	Reason Reason
	// Message explains the reason to a person.
	Message string
	// Score orders eligible clusters, higher being better; equal scores are ordered by name. It is positive, and 0 for those
	// that are not eligible. It compares clusters ranked together for one workload and means nothing else.
	Score int
	// Claims are what the workload would take there and of which flavors, as far as that is known; to be set in a UsageInFlight
	// when it is offered. Sorted, each flavor and resource once.
	Claims []Claim
}

// Preempting reports whether the workload would have to evict others there.
func (c Choice) Preempting() bool { return c.Reason == Preempts }
