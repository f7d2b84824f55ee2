package v1beta2

// Limits of an answer (contract: kueue-api.md 1.17).
const (
	// DefaultLimit is how many workloads an answer has at most if the client does not say.
	DefaultLimit = 1000
	// MaxLimit is how many it has at most, whatever the client says.
	MaxLimit = 100_000
)

// SetDefaults makes the options what a server goes by: 0 is no limit given, and what is less than 0 stands for 0.
func (o *PendingWorkloadOptions) SetDefaults() {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	o.Offset, o.Limit = max(o.Offset, 0), min(max(o.Limit, 0), MaxLimit)
}
