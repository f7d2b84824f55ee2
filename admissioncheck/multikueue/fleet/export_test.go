package fleet

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Budgeted is what a worker is dialled with, by default.
func (o Options) Budgeted(config *rest.Config) *rest.Config { return o.withDefaults().budgeted(config) }

// DialledByDefault is a client as a fleet makes it that is not told otherwise.
func (o Options) DialledByDefault(config *rest.Config) (client.WithWatch, error) {
	return o.withDefaults().Dial(config)
}
