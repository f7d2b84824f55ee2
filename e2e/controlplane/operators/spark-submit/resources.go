package main

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// request adds what a role's container asks for: cores and memory, without Spark's overhead.
func (p properties) request(role string, container *corev1.Container) error {
	prefix := "spark.kubernetes." + role + "."
	cpu := cmp.Or(p[prefix+"request.cores"], p["spark."+role+".cores"], "1")
	for name, value := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory(p["spark."+role+".memory"])} {
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return fmt.Errorf("%s of the %s: %w", name, role, err)
		}
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		container.Resources.Requests[name] = quantity
	}
	return nil
}

// memory is a quantity for an amount as Java writes it ("512m"); Spark's default is "1g".
func memory(java string) string {
	java = strings.TrimSuffix(strings.ToLower(cmp.Or(java, "1g")), "b")
	for suffix, binary := range map[string]string{"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"} {
		if number, ok := strings.CutSuffix(java, suffix); ok {
			return number + binary
		}
	}
	return java
}
