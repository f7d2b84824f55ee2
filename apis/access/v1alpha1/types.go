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

// What a hub's account to look after jobs on a worker may do, as the value of AccessLabel on the Secret with its kubeconfig.
const (
	// AccessLabel is on the Secret with the kubeconfig of the account.
	AccessLabel = "switchyard.dev/access"
	// AccessLogs lets the account read pods, their logs, events and jobs.
	AccessLogs = "logs"
	// AccessExec lets it also connect to containers.
	AccessExec = "exec"
)

// SecretName is the Secret, in the namespace of the hub's program, with the kubeconfig of the account for a cluster.
func SecretName(cluster string) string { return cluster + "-access" }

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
