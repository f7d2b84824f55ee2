package fleet

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithRateLimits is what a worker is dialled with, by default.
func (o Options) WithRateLimits(config *rest.Config) *rest.Config {
	return o.withDefaults().withRateLimits(config)
}

// DefaultDial is a client as a fleet makes it that is not told otherwise.
func (o Options) DefaultDial(config *rest.Config) (client.WithWatch, error) {
	return o.withDefaults().Dial(config)
}
