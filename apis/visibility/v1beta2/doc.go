// Package v1beta2 is the API for pending workloads: what waits in a queue, in which order. Nothing of it is stored.
//
// +kubebuilder:object:generate=true
// +groupName=visibility.kueue.x-k8s.io
package v1beta2
