package kube

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
)

// ConflictDelay is how long to let the cache catch up after a conflict with another writer. Waiting for its event would not
// do: changes of metadata alone are no events here.
const ConflictDelay = 100 * time.Millisecond

// ControllerOptions lets several hubs be served by one process, as tests do.
func ControllerOptions() ctrlcontroller.Options {
	skip := true
	return ctrlcontroller.Options{SkipNameValidation: &skip}
}

// TypedIndexer is an index function for one type of object; any other object has no values.
func TypedIndexer[T client.Object](values func(T) []string) client.IndexerFunc {
	return func(obj client.Object) []string {
		typed, ok := obj.(T)
		if !ok {
			return nil
		}
		return values(typed)
	}
}
