package assign

import (
	"slices"
	"strconv"
	"strings"

	"switchyard.dev/worker/admission"
)

// consideredFlavor is a flavor that was looked at for a unit, and which is not simply free.
type consideredFlavor struct {
	// firstPodSet is the index of the unit's first pod set, group that of the flavor's resource group.
	firstPodSet, resourceGroup int
	flavor                     string
	flavorGrade
	// obstaclesStart and to are where its obstacles are.
	obstaclesStart, obstaclesEnd int
	// nominalQuotaInUse tells, of a queue that never preempts, that nothing but others' use of the queue's own quota is in the way.
	nominalQuotaInUse bool
}

// recordConsidered remembers a flavor that was looked at with what stood in its way, for the message that explains the
// decision.
func (a *assignState) recordConsidered(c consideredFlavor, obstacles ...failureDetail) {
	c.obstaclesStart = len(a.obstacles)
	a.obstacles = append(a.obstacles, obstacles...)
	c.obstaclesEnd = len(a.obstacles)
	a.considered = append(a.considered, c)
}

// consideredText says what was considered for each pod set (contract: messages.md 2.4). Flavors come by name, what is in their way
// sorted, each once.
func (a *assignState) consideredText() string {
	if len(a.considered) == 0 {
		return ""
	}
	slices.SortStableFunc(a.considered, func(a, b consideredFlavor) int { return strings.Compare(a.flavor, b.flavor) })
	var podSets []string
	for i := range a.workload.PodSets {
		var flavors []string
		for _, c := range a.considered {
			if c.firstPodSet == a.firstPodSet(i) {
				flavors = append(flavors, a.flavorText(c, i))
			}
		}
		if len(flavors) > 0 {
			podSets = append(podSets, a.workload.PodSets[i].Name+": "+strings.Join(flavors, ", "))
		}
	}
	return strings.Join(podSets, " | ")
}

// firstPodSet is the index of the first pod set that shares its flavors with pod set i.
func (a *assignState) firstPodSet(i int) int {
	group := a.workload.PodSets[i].Group
	if group == "" {
		return i
	}
	return slices.IndexFunc(a.workload.PodSets, func(ps admission.PodSet) bool { return ps.Group == group })
}

// flavorText writes one considered flavor for a pod set: its name, mode, borrowing height and what was in the way.
func (a *assignState) flavorText(c consideredFlavor, podSet int) string {
	if c.mode == NoFit && c.nominalQuotaInUse {
		c.mode = NoCandidates
	}
	parts := []string{c.mode.text()}
	if c.borrowingHeight > 0 && c.mode != NoFit {
		parts = append(parts, "borrow="+strconv.Itoa(c.borrowingHeight))
	}
	var reasons []string
	for _, d := range a.obstacles[c.obstaclesStart:c.obstaclesEnd] {
		reasons = append(reasons, string(d.appendTo(nil)))
	}
	for _, r := range a.workload.PodSets[podSet].Requests {
		if column, covered := a.flavorTable.FindResource(r.Resource); covered && column.Group != c.resourceGroup && r.Amount > 0 {
			reasons = append(reasons, "flavor "+c.flavor+" does not provide resource "+r.Resource)
		}
	}
	slices.Sort(reasons)
	return c.flavor + "(" + strings.Join(append(parts, slices.Compact(reasons)...), ";") + ")"
}

// text is how the mode is told.
func (m Mode) text() string {
	names := [...]string{
		NoFit: "NoFit", NoCandidates: "preemptionMode=NoCandidates", Preempt: "preemptionMode=Preempt",
		Reclaim: "preemptionMode=Reclaim", Fit: "Fit",
	}
	return names[m]
}
