package v1beta1

import (
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"switchyard.dev/apis/kueue/v1beta2"
)

// ConvertTo writes the cluster into a *v1beta2.MultiKueueCluster, sharing memory.
// This version requires a kubeconfig, so its presence says nothing: a reference
// to a cluster profile wins.
func (c *MultiKueueCluster) ConvertTo(hub conversion.Hub) error {
	to := hub.(*v1beta2.MultiKueueCluster)
	to.ObjectMeta = c.ObjectMeta
	to.Spec = v1beta2.MultiKueueClusterSpec{}
	if c.Spec.ClusterProfileRef != nil {
		to.Spec.ClusterSource.ClusterProfileRef = c.Spec.ClusterProfileRef
	} else {
		kubeConfig := v1beta2.KubeConfig(c.Spec.KubeConfig)
		to.Spec.ClusterSource.KubeConfig = &kubeConfig
	}
	to.Status = v1beta2.MultiKueueClusterStatus{Conditions: c.Status.Conditions}
	return nil
}

// ConvertFrom reads the cluster from a *v1beta2.MultiKueueCluster, sharing memory.
// A cluster known by profile gets a kubeconfig without location.
func (c *MultiKueueCluster) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1beta2.MultiKueueCluster)
	c.ObjectMeta = from.ObjectMeta
	c.Spec = MultiKueueClusterSpec{
		KubeConfig:        KubeConfig{LocationType: v1beta2.SecretLocationType},
		ClusterProfileRef: from.Spec.ClusterSource.ClusterProfileRef,
	}
	if kubeConfig := from.Spec.ClusterSource.KubeConfig; kubeConfig != nil {
		c.Spec.KubeConfig = KubeConfig(*kubeConfig)
	}
	c.Status = MultiKueueClusterStatus{Conditions: from.Status.Conditions}
	return nil
}
