package quota

// Weight is what a node's share of borrowed quota is divided by when shares are compared (contract: kueue-api.md 4.8). The
// zero value is the default weight, 1.
type Weight struct {
	// aboveOne is how far the weight is above 1, in billionths; at least -One.
	aboveOne int64
}

// UnitWeight is the weight 1 in billionths, the smallest difference that the API lets a weight make (contract: kueue-api.md 1.15).
const UnitWeight = 1_000_000_000

// NewWeight returns the weight of so many billionths, which must not be negative.
func NewWeight(billionths int64) Weight { return Weight{aboveOne: billionths - UnitWeight} }

// Billionths returns the weight in billionths; 0 makes any share infinite.
func (w Weight) Billionths() int64 { return w.aboveOne + UnitWeight }
