package view

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/podrequests"
)

// AmountOf is [demand.ToAmount].
func AmountOf(name string, q resource.Quantity) amount.Amount { return podrequests.ToAmount(name, q) }

// QuantityOf is [demand.ToQuantity].
func QuantityOf(name string, a amount.Amount) resource.Quantity {
	return podrequests.ToQuantity(name, a)
}

// ResourceListOf is [demand.ToResourceList].
func ResourceListOf(v amount.Vector) corev1.ResourceList { return podrequests.ToResourceList(v) }
