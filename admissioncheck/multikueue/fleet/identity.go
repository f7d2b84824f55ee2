package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identify reads by whose UID the cluster is known from any other: its namespace kube-system comes and goes with it. A cluster that
// does not let us is used without, as nothing but what depends on its identity is lost.
func (s *session) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
	defer cancel()
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := s.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	switch {
	case err == nil:
		s.identity = namespace.UID
	case unreachable(err):
		return fmt.Errorf("read the identity of the cluster: %w", err)
	default:
		s.unidentified = err
	}
	return nil
}
