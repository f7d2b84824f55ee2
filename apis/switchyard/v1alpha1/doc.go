// Package v1alpha1 is what the public API has no word for: how jobs are fenced, what a worker has room for, and what
// people tell the dispatcher by annotations.
//
// +kubebuilder:object:generate=true
// +groupName=switchyard.dev
package v1alpha1
