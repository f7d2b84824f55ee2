// Package webhook admits queue objects and Workloads: it says what the CRDs'
// schemas and CEL rules cannot (contract: kueue-api.md 1.15). The rules are pure
// functions from objects to field errors; the webhooks around them only decode.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=kueue-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=kueue-validating-webhook-configuration
package webhook
