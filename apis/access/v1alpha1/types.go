package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of the kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "access.switchyard.dev", Version: "v1alpha1"}

// AllClusters is the name of a Cluster that stands for all workers.
const AllClusters = "all"

// BasePath returns the path below which the jobs of a cluster, or of AllClusters, are served as by an API server.
func BasePath(cluster string) string {
	return "/apis/" + GroupVersion.String() + "/clusters/" + cluster + "/proxy"
}

// Cluster is a worker of the hub, by the name of its MultiKueueCluster, or AllClusters. It can be neither read nor written; its subresource proxy
// passes requests on.
//
// +kubebuilder:object:root=true
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Cluster{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
