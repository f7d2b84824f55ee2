package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/profile"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// SecretIndex finds MultiKueueClusters by the Secret of their kubeconfig.
const SecretIndex = "multikueue.secret"

// RecorderName is the event source of the controller of clusters (contract: multikueue.md 1).
const RecorderName = "multikueue-cluster"

// Setup adds the controller of MultiKueueClusters. The namespace is that of kubeconfig Secrets.
func Setup(mgr ctrl.Manager, f *fleet.Fleet, namespace string, sources CredentialSources) error {
	r := &Reconciler{
		Client: mgr.GetClient(), Fleet: f, Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder(RecorderName),
		Credentials: CredentialsLoader{
			Secrets: mgr.GetClient(), Namespace: namespace, PathPrefix: kueue.MultiKueueKubeConfigPathPrefix,
			Providers: sources.Providers,
		},
	}
	if sources.AllowAnyPath {
		r.Credentials.PathPrefix = ""
	}
	if sources.AllowProfiles {
		if err := r.watchProfiles(mgr); err != nil {
			return err
		}
	}
	if err := r.watchKubeconfigFiles(mgr); err != nil {
		return err
	}
	return r.setup(mgr)
}

// watchKubeconfigFiles makes clusters be looked at again when their kubeconfig files change. A machine that cannot tell (it may have
// run out of watches) has them read again every now and then.
func (r *Reconciler) watchKubeconfigFiles(mgr ctrl.Manager) error {
	files, err := newKubeconfigWatcher(func(cluster string) {
		r.Fleet.ClusterRequests().Enqueue(client.ObjectKey{Name: cluster}, fileSettleDelay)
	})
	if err != nil {
		ctrl.Log.Error(err, "Kubeconfig files are only read again every "+kubeconfigRereadInterval.String())
		return nil
	}
	r.kubeconfigWatcher = files
	return mgr.Add(files)
}

// watchProfiles makes clusters be looked at again when their profiles change.
func (r *Reconciler) watchProfiles(mgr ctrl.Manager) error {
	if err := inventory.AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("know cluster profiles: %w", err)
	}
	watch := &profile.Watch{
		Mapper: mgr.GetRESTMapper(), Namespace: r.Credentials.Namespace, Changed: r.enqueueForProfile,
		NewCache: func() (cache.Cache, error) {
			return cache.New(rest.CopyConfig(mgr.GetConfig()), cache.Options{
				Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
				DefaultNamespaces: map[string]cache.Config{r.Credentials.Namespace: {}},
			})
		},
	}
	r.Credentials.Profiles = watch
	return mgr.Add(watch)
}

// enqueueForProfile makes the clusters of a profile be looked at, of any profile if it is "".
func (r *Reconciler) enqueueForProfile(name string) {
	list := &kueue.MultiKueueClusterList{}
	if err := r.Client.List(context.Background(), list); err != nil {
		ctrl.Log.Error(err, "List clusters of a profile")
		return
	}
	for i := range list.Items {
		ref := list.Items[i].Spec.ClusterSource.ClusterProfileRef
		if ref != nil && (name == "" || ref.Name == name) {
			r.Fleet.ClusterRequests().Enqueue(client.ObjectKeyFromObject(&list.Items[i]), 0)
		}
	}
}

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("multikueue_cluster").
		For(&kueue.MultiKueueCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Fleet.ClusterRequests().Source()).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(r.requestsForSecret))).
		WithOptions(clusterControllerOptions()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("controller of clusters: %w", err)
	}
	return nil
}

// clusterControllerOptions bound the wait after failures, which by default grows to a quarter of an hour.
func clusterControllerOptions() ctrlcontroller.Options {
	o := kube.ControllerOptions()
	o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetryDelay, kubeconfigRereadInterval)
	return o
}

// minRetryDelay is how soon a reconcile is repeated after its first failure in a row.
const minRetryDelay = 5 * time.Millisecond

// requestsForSecret lists the clusters whose kubeconfig is in the Secret.
func (r *Reconciler) requestsForSecret(ctx context.Context, secret *corev1.Secret) []reconcile.Request {
	if secret.Namespace != r.Credentials.Namespace {
		return nil
	}
	list := &kueue.MultiKueueClusterList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{SecretIndex: secret.Name}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List clusters of a secret")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// SecretIndexValues returns the values of SecretIndex.
func SecretIndexValues(c *kueue.MultiKueueCluster) []string {
	if k := c.Spec.ClusterSource.KubeConfig; k != nil && k.LocationType != kueue.PathLocationType {
		return []string{k.Location}
	}
	return nil
}
