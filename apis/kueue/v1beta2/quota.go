package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceGroup is a set of resources that get their flavors together: a pod
// set is given one flavor of the group for all resources of the group.
//
// +kubebuilder:validation:XValidation:rule="self.flavors.all(x, size(x.resources) == size(self.coveredResources))",message="flavors must have the same number of resources as the coveredResources"
type ResourceGroup struct {
	// coveredResources are the resources of the group; no other group has them.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	CoveredResources []corev1.ResourceName `json:"coveredResources"`
	// flavors in the order in which they are tried; no other group has them.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Flavors []FlavorQuotas `json:"flavors"`
}

// FlavorQuotas are the quotas of one flavor.
type FlavorQuotas struct {
	// name of the ResourceFlavor.
	// +required
	Name ResourceFlavorReference `json:"name"`
	// resources has the covered resources of the group, in the same order.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Resources []ResourceQuota `json:"resources"`
}

// ResourceQuota is the quota of one resource in one flavor.
type ResourceQuota struct {
	// name of the resource.
	// +required
	Name corev1.ResourceName `json:"name"`
	// nominalQuota is what the queue owns.
	// +required
	NominalQuota resource.Quantity `json:"nominalQuota"`
	// borrowingLimit is the most that may be used above nominalQuota; absent, there is no limit.
	// +optional
	BorrowingLimit *resource.Quantity `json:"borrowingLimit,omitempty"`
	// lendingLimit is the most that others may borrow; absent, all of it.
	// +optional
	LendingLimit *resource.Quantity `json:"lendingLimit,omitempty"`
}

// FairSharing are the settings of one queue or cohort in fair sharing.
type FairSharing struct {
	// weight of the queue or cohort among its siblings; 0 makes its share infinite
	// as soon as it borrows.
	// +optional
	// +kubebuilder:default=1
	Weight *resource.Quantity `json:"weight,omitempty"`
}

// FairSharingStatus is the present share of a queue or cohort.
type FairSharingStatus struct {
	// weightedShare is the dominant resource share, in thousandths, divided by the
	// weight and rounded up; the greatest int64 when the weight is 0 and it borrows.
	// +required
	WeightedShare int64 `json:"weightedShare"`
}

// LocalQueueFairSharingStatus is the present share of a LocalQueue.
type LocalQueueFairSharingStatus struct {
	// weightedShare as in FairSharingStatus.
	// +required
	WeightedShare int64 `json:"weightedShare"`
	// admissionFairSharingStatus is the usage that orders admissions by past use.
	// +optional
	AdmissionFairSharingStatus *AdmissionFairSharingStatus `json:"admissionFairSharingStatus,omitempty"`
}

// AdmissionFairSharingStatus is the usage that orders admissions by past use.
type AdmissionFairSharingStatus struct {
	// consumedResources is the decayed usage of each resource.
	// +required
	ConsumedResources corev1.ResourceList `json:"consumedResources"`
	// lastUpdate is when the usage was sampled last.
	// +required
	LastUpdate metav1.Time `json:"lastUpdate"`
}
