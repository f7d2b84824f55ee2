package workload

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// HasOwner tells whether a job plays the owner of the Workload: it stops its pods, releases the quota after an eviction, and lets the
// Workload go at its end. The pods of a group do so together, and none of them is the controller.
func HasOwner(wl *kueue.Workload) bool {
	return metav1.GetControllerOfNoCopy(wl) != nil || HasPodOwners(wl) || IsGroup(wl) && len(wl.OwnerReferences) > 0
}

// IsGroup tells whether the Workload is that of several objects, such as the pods of a group.
func IsGroup(wl *kueue.Workload) bool {
	return wl.Annotations[kueue.IsGroupWorkloadAnnotation] == "true"
}

// HasPodOwners tells whether pods are among the owners of the Workload.
func HasPodOwners(wl *kueue.Workload) bool { return slices.ContainsFunc(wl.OwnerReferences, isPod) }

// IsSinglePod tells whether the Workload stands for one pod that is in no group.
func IsSinglePod(wl *kueue.Workload) bool {
	controller := metav1.GetControllerOfNoCopy(wl)
	return !IsGroup(wl) && controller != nil && isPod(*controller)
}

// isPod tells whether a reference leads to a pod.
func isPod(ref metav1.OwnerReference) bool { return ref.APIVersion == "v1" && ref.Kind == "Pod" }
