// Package v1beta2 is the configuration file of the programs: kind Configuration
// of config.kueue.x-k8s.io (contract: kueue-api.md 7). It holds the types, their
// defaults and their validation. Package apis/config reads a file of any version.
//
// Invariant: after SetDefaults every pointer whose comment says "never nil after
// defaulting" is set, so that a program never asks what an absent field means.
//
// +kubebuilder:object:generate=true
package v1beta2
