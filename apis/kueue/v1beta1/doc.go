// Package v1beta1 is the older served version of the public group
// kueue.x-k8s.io and its conversion to and from v1beta2, the hub (contract:
// kueue-api.md 1.1 and the "v1beta1 differences" of each kind).
//
// Invariant: a type is declared here only where its schema differs from
// v1beta2; everything else is the type of v1beta2. Kinds without a conversion
// function here are served with the strategy None: what the two versions do not
// share is pruned.
//
// +kubebuilder:object:generate=true
// +groupName=kueue.x-k8s.io
package v1beta1
