package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds of this package.
const GroupName = "visibility.kueue.x-k8s.io"

// GroupVersion names the group and version under which the kinds are registered.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta2"}

// SchemeBuilder collects the registration of all kinds of this version.
var SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	AddKnownTypes(scheme, GroupVersion)
	return nil
})

// AddToScheme registers all kinds of this version in a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

// AddKnownTypes registers all kinds under a version of the group: the versions differ in name only.
func AddKnownTypes(scheme *runtime.Scheme, version schema.GroupVersion) {
	scheme.AddKnownTypes(version,
		&ClusterQueue{}, &ClusterQueueList{}, &LocalQueue{}, &LocalQueueList{}, &PendingWorkloadsSummary{}, &PendingWorkloadOptions{})
	metav1.AddToGroupVersion(scheme, version)
}
