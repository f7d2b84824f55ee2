package placement

import (
	"cmp"
	"slices"
)

// Rank returns one Choice for each cluster of the fleet, the best first: those that may be offered the workload by score,
// then the others, by name. The order of the fleet does not matter.
func Rank(r Request, fleet []Cluster) []Choice {
	gang := r.gang()
	choices := make([]Choice, 0, len(fleet))
	for i := range fleet {
		choices = append(choices, choose(&r, &fleet[i], gang))
	}
	slices.SortFunc(choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Cluster, b.Cluster))
	})
	return choices
}
