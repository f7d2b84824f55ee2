package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CapacityReportName is the name of the one CapacityReport of a cluster.
const CapacityReportName = "switchyard"

// CapacityReportRenewal is how often a CapacityReport is written at least, changed or not. A reader takes one that was not
// renewed three times in a row for abandoned.
const CapacityReportRenewal = 5 * time.Minute

// What is left out of a CapacityReport that would be too large to be stored, in this order.
const (
	OmittedPreempting    = "preempting"
	OmittedWaiting       = "waiting"
	OmittedClusterQueues = "clusterQueues"
)

// Unlimited as a figure of a CapacityReport means that there is no bound.
const Unlimited int64 = 1<<63 - 1

// CapacityReport is what a cluster has room for, as its admission engine sees it. It is a report and no promise: a job that
// is offered there may still be refused. The engine writes it when figures change, at most once in two seconds, and every
// five minutes if they do not.
//
// Figures are integers: thousandths of cpu, and whole base units (bytes, devices, pods) of every other resource. They are
// given once for each ClusterQueue that some LocalQueue points to; in lists, in the order of the group's resources.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.observedAt`
type CapacityReport struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// observedAt is when the figures were read, by this cluster's clock: every reservation that was made earlier is in them.
	// It also moves when reservations changed and all figures are what they were, and every five minutes in any case.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// kinds are the kinds of jobs that the engine serves, each as Kind.version.group.
	// +optional
	// +listType=atomic
	Kinds []string `json:"kinds,omitempty"`
	// ignoresUncovered is set if resources that no group covers may be left out of account.
	// +optional
	IgnoresUncovered bool `json:"ignoresUncovered,omitempty"`
	// omitted is what was left out because the report would have been too large to be stored: preempting, waiting and in the end
	// clusterQueues, in this order. Of what was left out nothing is said.
	// +optional
	// +listType=atomic
	Omitted []string `json:"omitted,omitempty"`
	// flavors are the ResourceFlavors that the queues below name, by name; those that do not exist are left out.
	// +optional
	// +listType=atomic
	Flavors []CapacityFlavor `json:"flavors,omitempty"`
	// clusterQueues are the ClusterQueues that some LocalQueue points to, by name.
	// +optional
	// +listType=atomic
	ClusterQueues []CapacityQueue `json:"clusterQueues,omitempty"`
}

// CapacityReportList is a list of CapacityReports.
//
// +kubebuilder:object:root=true
type CapacityReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityReport `json:"items"`
}

// CapacityFlavor is what a pod must agree with to get a flavor.
type CapacityFlavor struct {
	// name of the ResourceFlavor.
	Name string `json:"name"`
	// nodeLabels are those of the ResourceFlavor.
	// +optional
	// +mapType=atomic
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// nodeTaints are those of the ResourceFlavor.
	// +optional
	// +listType=atomic
	NodeTaints []corev1.Taint `json:"nodeTaints,omitempty"`
	// tolerations are those that the ResourceFlavor adds to its pods.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// CapacityQueue is what one ClusterQueue has room for.
type CapacityQueue struct {
	// name of the ClusterQueue.
	Name string `json:"name"`
	// closed says why the ClusterQueue admits nothing at all; empty if it does.
	// +optional
	Closed string `json:"closed,omitempty"`
	// strict is set if no workload passes the one at the head that has to wait (StrictFIFO).
	// +optional
	Strict bool `json:"strict,omitempty"`
	// localQueues are those that point to the ClusterQueue, by name.
	// +optional
	// +listType=atomic
	LocalQueues []CapacityLocalQueue `json:"localQueues,omitempty"`
	// groups are the resource groups, with their flavors in the order in which they are tried.
	// +optional
	// +listType=atomic
	Groups []CapacityGroup `json:"groups,omitempty"`
	// waiting are the workloads that wait in the ClusterQueue, by priority, highest first. Where there are more than
	// eight priorities the lowest ones are counted together, under the highest of them.
	// +optional
	// +listType=atomic
	Waiting []CapacityWaiting `json:"waiting,omitempty"`
}

// CapacityLocalQueue is a LocalQueue by which a ClusterQueue is reached.
type CapacityLocalQueue struct {
	// name is the namespace and the name of the LocalQueue, with a slash between them.
	Name string `json:"name"`
	// closed says why nothing is admitted by way of this LocalQueue; empty if it is.
	// +optional
	Closed string `json:"closed,omitempty"`
}

// CapacityGroup is a resource group: its resources always get one flavor together.
type CapacityGroup struct {
	// resources that the group covers, in the order of the figures.
	// +listType=atomic
	Resources []string `json:"resources"`
	// flavors of the group, in the order in which they are tried.
	// +optional
	// +listType=atomic
	Flavors []CapacityFigures `json:"flavors,omitempty"`
}

// CapacityFigures are what a ClusterQueue has room for in one flavor. None is negative.
type CapacityFigures struct {
	// flavor is the name of the ResourceFlavor.
	Flavor string `json:"flavor"`
	// own is free within the ClusterQueue's own quota.
	// +listType=atomic
	Own []int64 `json:"own"`
	// free is what can be used now without evictions: own, and what can be borrowed.
	// +listType=atomic
	Free []int64 `json:"free"`
	// largest is the largest single placement: the most that one pod set could be given of the flavor, borrowing included, if
	// no other queue used anything. A workload that asks for more is never admitted, however long it waits.
	// +listType=atomic
	Largest []int64 `json:"largest"`
	// preempting is what can be used by evicting others, by rising priority of the preemptor. It is an upper bound: it may
	// take more evictions than the policies allow for one workload.
	// +optional
	// +listType=atomic
	Preempting []CapacityStep `json:"preempting,omitempty"`
}

// CapacityStep is what a workload of a priority can use by evicting others.
type CapacityStep struct {
	// priority is the lowest that can do so.
	Priority int32 `json:"priority"`
	// free is what it can use then, that which is free anyway included.
	// +listType=atomic
	Free []int64 `json:"free"`
}

// CapacityWaiting counts the workloads of a priority that wait.
type CapacityWaiting struct {
	// priority of the workloads.
	Priority int32 `json:"priority"`
	// count of the workloads.
	Count int32 `json:"count"`
	// since is when the first of them was queued, by this cluster's clock.
	Since metav1.Time `json:"since"`
}
