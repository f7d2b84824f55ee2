package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// readIdentity reads the UID that tells the cluster from any other: that of its namespace kube-system, which comes and goes
// with the cluster. A cluster that does not permit it is used without; only what depends on its identity is lost.
func (s *session) readIdentity(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
	defer cancel()
	namespace := &unstructured.Unstructured{} // asked for as JSON, which alone is read from workers
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := s.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	switch {
	case err == nil:
		s.identity = namespace.GetUID()
	case isUnanswered(err):
		return fmt.Errorf("read the identity of the cluster: %w", err)
	default:
		s.identityErr = err
	}
	return s.detectSwitchyard()
}

// detectSwitchyard asks whether the cluster serves what comes with our program, as no other worker does.
func (s *session) detectSwitchyard() error {
	report := switchyard.GroupVersion.WithKind("CapacityReport")
	_, err := s.client.RESTMapper().RESTMapping(report.GroupKind(), report.Version)
	if isUnanswered(err) {
		return fmt.Errorf("ask for the group %s: %w", report.Group, err)
	}
	s.servesSwitchyard = err == nil
	return nil
}

// isUnanswered tells a call that was not answered, or not to its end, from an answer, be it of discovery, that makes no sense.
func isUnanswered(err error) bool {
	var call *url.Error
	return errors.As(err, &call) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrExceeded)
}
