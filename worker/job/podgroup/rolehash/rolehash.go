// Package rolehash computes the hash by which pods of one shape are known (contract: job-kinds.md 10.3). It is the name of a pod
// set and is stored on pods, so it must be the same to the bit whoever computes it: another manager's pods of the same shape
// would be another role.
package rolehash

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// length is how many hex digits of the sum are kept.
const length = 8

// Compute returns the hash of a pod's shape: what decides where it can run and what it takes there. Names, images, limits and
// environment do not count. An error means that a quantity cannot be written.
func Compute(spec *corev1.PodSpec) (string, error) {
	text, err := Text(spec)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:length], nil
}

// Text is what is hashed. Keys of the objects that are made here are sorted; those of the API's own types come in the order of
// the API. Absent values are null, so that the keys are always the same, but for the resources of the pod as a whole.
func Text(spec *corev1.PodSpec) ([]byte, error) {
	shape := map[string]any{
		"initContainers":            containers(spec.InitContainers),
		"containers":                containers(spec.Containers),
		"nodeSelector":              spec.NodeSelector,
		"affinity":                  spec.Affinity,
		"tolerations":               spec.Tolerations,
		"runtimeClassName":          spec.RuntimeClassName,
		"priority":                  spec.Priority,
		"topologySpreadConstraints": spec.TopologySpreadConstraints,
		"overhead":                  spec.Overhead,
		"resourceClaims":            spec.ResourceClaims,
	}
	if spec.Resources != nil && spec.Resources.Requests != nil {
		shape["resources"] = requests(spec.Resources.Requests)
	}
	text, err := json.Marshal(map[string]any{"spec": shape})
	if err != nil {
		return nil, fmt.Errorf("encode the shape of a pod: %w", err)
	}
	return text, nil
}

// containers is what counts of containers, nil for none.
func containers(list []corev1.Container) []map[string]any {
	var shapes []map[string]any
	for i := range list {
		shapes = append(shapes, map[string]any{
			"resources": requests(list[i].Resources.Requests),
			"ports":     list[i].Ports,
		})
	}
	return shapes
}

func requests(list corev1.ResourceList) map[string]any { return map[string]any{"requests": list} }
