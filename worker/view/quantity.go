package view

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/demand"
)

// AmountOf is [demand.AmountOf].
func AmountOf(name string, q resource.Quantity) amount.Amount { return demand.AmountOf(name, q) }

// QuantityOf is [demand.QuantityOf].
func QuantityOf(name string, a amount.Amount) resource.Quantity { return demand.QuantityOf(name, a) }

// ResourceListOf is [demand.ListOf].
func ResourceListOf(v amount.Vector) corev1.ResourceList { return demand.ListOf(v) }
