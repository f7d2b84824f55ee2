// Package v1beta2 is the storage version and conversion hub of the public group
// kueue.x-k8s.io: its eleven kinds, their condition types and reasons, and the
// labels, annotations and names that travel between clients, hub and workers
// (contract: kueue-api.md 1 and 2).
//
// Invariant: this package states what the wire looks like and decides nothing.
// Enumerations are plain strings whose zero value means "not set, take the
// default"; a pointer is used only where absence differs from every value.
//
// +kubebuilder:object:generate=true
// +groupName=kueue.x-k8s.io
package v1beta2
