package manager

import (
	"context"
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// authorityFile is the key of the Secret, and the file, that holds the certificate of the authority.
const authorityFile = "ca.crt"

// publisher puts the certificate that a Secret holds into the certificate directory, from which the webhook server reads
// it. A kubelet would do the same with a mounted Secret, but one or two minutes later. Each replica has a directory of its
// own.
type publisher struct {
	secrets client.Reader
	secret  types.NamespacedName
	dir     directory
}

// addPublisher watches the Secret, and no other, from the start on and on every replica.
func addPublisher(mgr ctrl.Manager, secret types.NamespacedName, dir string) error {
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: map[string]cache.Config{
			secret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", secret.Name)},
		}}},
	})
	if err != nil {
		return fmt.Errorf("make the cache of Secret %s: %w", secret, err)
	}
	if err := mgr.Add(ownCache{secrets}); err != nil {
		return fmt.Errorf("add the cache of Secret %s: %w", secret, err)
	}
	publish, err := controller.New("certificates", mgr, controller.Options{
		Reconciler:         publisher{secrets, secret, directory(dir)},
		NeedLeaderElection: new(false),
	})
	if err != nil {
		return fmt.Errorf("make the controller of certificates: %w", err)
	}
	return publish.Watch(source.Kind(secrets, &corev1.Secret{}, &handler.TypedEnqueueRequestForObject[*corev1.Secret]{}))
}

// ownCache is a cache that the manager starts before controllers, as it does with its own.
type ownCache struct{ cache.Cache }

// GetCache makes the manager wait until the cache has synced.
func (c ownCache) GetCache() cache.Cache { return c.Cache }

// Reconcile makes the directory's certificate that of the Secret. What is not a certificate with its key is left to the
// rotator to replace.
func (p publisher) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var secret corev1.Secret
	if err := p.secrets.Get(ctx, p.secret, &secret); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("No certificate yet", "because", err.Error())
		return reconcile.Result{}, nil
	}
	changed, err := p.dir.publish([]file{
		{authorityFile, secret.Data[authorityFile]},
		{corev1.TLSPrivateKeyKey, key},
		{corev1.TLSCertKey, certificate}, // last: who sees it finds the others
	})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("put the certificate of Secret %s into %s, which must be writable while internalCertManagement is enabled: %w",
			p.secret, p.dir, err)
	}
	if changed {
		ctrl.LoggerFrom(ctx).Info("The webhook server has a new certificate", "directory", string(p.dir))
	}
	return reconcile.Result{}, nil
}
