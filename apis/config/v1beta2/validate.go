package v1beta2

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports everything that is wrong with the configuration, each with
// the path of its field; nil when nothing is. SetDefaults must have run.
func (c *Configuration) Validate() error {
	return c.validate().ToAggregate()
}

func (c *Configuration) validate() field.ErrorList {
	var all field.ErrorList
	return all
}
