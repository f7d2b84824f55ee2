package act

import (
	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/cycle"
)

// CycleOptions are the settings of the cycle that a configuration asks for.
func CycleOptions(cfg *config.Configuration) cycle.Options {
	return cycle.Options{
		MaxAdmissions:    DefaultMaxAdmissions,
		IgnoreUndeclared: cfg.Resources != nil && cfg.Resources.QuotaCheckStrategy == config.IgnoreUndeclared,
	}
}
