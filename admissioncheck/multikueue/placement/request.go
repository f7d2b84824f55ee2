package placement

import "switchyard.dev/worker/admission"

// Request is a workload that looks for a cluster.
type Request struct {
	// Namespace and LocalQueue name the LocalQueue that must exist on the cluster.
	Namespace  string
	LocalQueue string
	// Kind of the job, as Kind.version.group; empty if that does not matter.
	Kind string
	// Priority decides which workloads it could evict, and which wait before it.
	Priority int32
	// PodSets are what it asks for, as the admission core has it.
	PodSets []admission.PodSet
	// Assumed are resources that no pod asks for: rules of the asking cluster make them of others. Another cluster need not know
	// them, so that one which covers none of them is not ruled out; one that does is taken to count them alike. Sorted.
	Assumed []string
	// Prefer are the names of clusters that are taken before others that fit as well, the first before the second.
	Prefer []string
	// Refused are clusters that this workload is not to be offered to again for now, with the reason that they gave; by name,
	// each once.
	Refused []Refusal
}

// Refusal is a cluster's answer to an offer.
type Refusal struct {
	// Cluster is the name of the MultiKueueCluster.
	Cluster string
	// Message is what the cluster said, in words; it may be empty.
	Message string
}

// isGang reports whether the workload has more than one pod.
func (r *Request) isGang() bool {
	var pods int64
	for i := range r.PodSets {
		pods += int64(max(r.PodSets[i].Count, 0))
	}
	return pods > 1
}
