// Package v1alpha1 is the API by which people look after their jobs on the workers of a hub. Below clusters/{name}/proxy of an
// aggregated API server it looks like the API server of a cluster that has nothing but the pods, logs, events and jobs of that hub.
//
// +kubebuilder:object:generate=true
// +groupName=access.switchyard.dev
package v1alpha1
