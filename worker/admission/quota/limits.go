package quota

import "switchyard.dev/worker/admission/amount"

// Limits is the quota of one flavor-resource at one node of the tree (contract: kueue-api.md 1.3, 1.5, 4.5).
// The zero value grants, borrows and lends nothing; Nominal(n) borrows and lends without limit.
type Limits struct {
	// Nominal is what the node owns. Never negative.
	Nominal amount.Amount
	// Borrowing is how far above its own quota the node may go; amount.Unlimited when the API field is unset.
	Borrowing amount.Amount
	// Lending is how much of its quota the rest of the tree may use; amount.Unlimited when the API field is unset.
	Lending amount.Amount
}

// Nominal returns limits with the given nominal quota and neither a borrowing nor a lending limit.
func Nominal(n amount.Amount) Limits {
	return Limits{Nominal: n, Borrowing: amount.Unlimited, Lending: amount.Unlimited}
}

// Grant is the limits of one flavor-resource.
type Grant struct {
	FlavorResource
	Limits
}
