package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	jobsetkind "switchyard.dev/worker/job/jobset"
)

// HubAccount is the service account by which a hub works on its workers.
const HubAccount = "switchyard-hub"

// WorkerAccess makes a kubeconfig by which a hub of the default origin may do on the worker what it needs and nothing
// more: a service account in the programs' namespace, with a token, and what the manifest for workers grants it for the kinds of
// job; Job and JobSet if none are given.
func WorkerAccess(ctx context.Context, worker *clusters.Cluster, kinds ...job.Integration) ([]byte, error) {
	access := workeraccess.Access{Namespace: Namespace, ServiceAccount: HubAccount, Origin: configapi.DefaultMultiKueueOrigin}
	if len(kinds) == 0 {
		kinds = []job.Integration{job.NewIntegration(batchjob.Kind()), job.NewIntegration(jobsetkind.Kind())}
	}
	for _, kind := range kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind.GVK())
		access.Jobs = append(access.Jobs, resource.GroupResource())
		if kind.FollowsSpec() {
			access.Followed = append(access.Followed, resource.GroupResource())
		}
	}
	kubeconfig, err := worker.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{
		Namespace: Namespace, Name: HubAccount,
		Rules: append(workeraccess.WorkerRules(access.Jobs...), workeraccess.FollowRules(access.Followed...)...),
	})
	if err != nil {
		return nil, err
	}
	administrator, err := Client(worker)
	if err != nil {
		return nil, err
	}
	for _, object := range access.Objects() {
		if err := client.IgnoreAlreadyExists(administrator.Create(ctx, object)); err != nil {
			return nil, fmt.Errorf("rights of the hub on %s: %w", worker.Name, err)
		}
	}
	return kubeconfig, nil
}

// Register makes the worker known to the hub under its name, as a user would: a kubeconfig Secret in the programs'
// namespace and a MultiKueueCluster that refers to it. An address, if not empty, is where the hub finds the worker's API
// server. The kinds are those of WorkerAccess.
func Register(ctx context.Context, hub, worker *clusters.Cluster, address string, kinds ...job.Integration) error {
	kubeconfig, err := WorkerAccess(ctx, worker, kinds...)
	if err == nil && address != "" {
		kubeconfig, err = clusters.ThroughProxy(kubeconfig, address)
	}
	if err != nil {
		return err
	}
	c, err := Client(hub)
	if err != nil {
		return err
	}
	for _, object := range Registration(worker.Name, kubeconfig) {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("registering %s at %s: %w", worker.Name, hub.Name, err)
		}
	}
	return nil
}

// Registration is what a hub needs to know a worker: Secret and MultiKueueCluster.
func Registration(name string, kubeconfig []byte) []client.Object {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name + "-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	cluster := &kueue.MultiKueueCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.MultiKueueClusterSpec{ClusterSource: kueue.ClusterSource{
			KubeConfig: &kueue.KubeConfig{Location: secret.Name, LocationType: kueue.SecretLocationType},
		}},
	}
	return []client.Object{secret, cluster}
}

// Scheme knows every kind that users of Switchyard deal with.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(jobset.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	utilruntime.Must(switchyard.AddToScheme(scheme))
	return scheme
}

// Client is an administrator's client for the cluster.
func Client(c *clusters.Cluster) (client.WithWatch, error) {
	made, err := client.NewWithWatch(c.Config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", c.Name, err)
	}
	return made, nil
}
