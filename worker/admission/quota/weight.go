package quota

// Weight is what a node's share of borrowed quota is divided by when shares are compared (contract: kueue-api.md 4.8). The
// zero value is the default weight, 1.
type Weight struct {
	// above is how far the weight is above 1, in billionths; at least -One.
	above int64
}

// One is the weight 1 in billionths, the smallest difference that the API lets a weight make (contract: kueue-api.md 1.15).
const One = 1_000_000_000

// WeightOf returns the weight of so many billionths, which must not be negative.
func WeightOf(billionths int64) Weight { return Weight{above: billionths - One} }

// Billionths returns the weight in billionths; 0 makes any share infinite.
func (w Weight) Billionths() int64 { return w.above + One }
