package dispatch

import (
	"slices"
	"time"
)

// nomination is which clusters are to be offered to.
type nomination struct {
	state State
	// wake is when the round ends, zero if nothing follows it; exhausted is set if a round was wanted and there is no cluster
	// left for it.
	wake      time.Time
	exhausted bool
}

// nominate chooses the clusters to offer to, as the policy says (contract: multikueue.md 7).
func (t turn) nominate(s State) nomination {
	switch t.p.Dispatcher {
	case AllAtOnce:
		if names := sorted(t.eligible()); !slices.Equal(names, s.Nominated) {
			s.Nominated = names
		}
		return nomination{state: s}
	case Incremental, BestFit:
		return t.round(s)
	case External:
	}
	return nomination{state: s}
}

// eligible returns the clusters to offer to: listed, connected, and with our name free; in the config's order.
func (t turn) eligible() []string {
	var names []string
	for _, v := range t.o.Clusters {
		if v.InConfig && v.connected() && !v.collision() {
			names = append(names, v.Name)
		}
	}
	return names
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// round nominates a few clusters after the others: as many as the step at once; as many more when these had their time; and
// one more for each that refuses while fewer than the step are left that may still admit. Nominations add up, and are
// withdrawn only from a cluster that the config lists no more. A round whose start is not known begins now.
func (t turn) round(s State) nomination {
	s.Nominated = t.listed(s.Nominated)
	now := t.o.Now.UTC().Truncate(time.Second)
	if len(s.Nominated) > 0 && s.Round.IsZero() {
		s.Round = now
	}
	rest := t.eligible()
	if t.p.ByName {
		rest = sorted(rest)
	}
	rest = slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(s.Nominated, name) })
	step := max(t.p.StepSize, 1)
	ends, wanted := s.Round.Add(t.p.RoundTimeout), step-t.hopeful(s.Nominated)
	if over := !t.o.Now.Before(ends); over && len(s.Nominated) > 0 {
		wanted = step
	}
	switch {
	case wanted <= 0 && len(rest) > 0:
		return nomination{state: s, wake: ends}
	case wanted <= 0 || len(rest) == 0:
		return nomination{state: s, exhausted: wanted > 0}
	}
	s.Nominated = sorted(append(slices.Clone(s.Nominated), rest[:min(wanted, len(rest))]...))
	s.Round = now
	return nomination{state: s}
}

// listed returns those of the names that the config lists; the same slice if it lists all.
func (t turn) listed(names []string) []string {
	gone := func(name string) bool { return !t.view(name).InConfig }
	if !slices.ContainsFunc(names, gone) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), gone)
}

// hopeful counts the clusters that may still admit what they were offered.
func (t turn) hopeful(names []string) int {
	count := 0
	for _, name := range names {
		if !t.refuses(t.view(name)) {
			count++
		}
	}
	return count
}

// refuses reports whether a cluster is known not to admit the Workload as things are: it cannot be reached, does not take
// what it is given, or has turned its copy away.
func (t turn) refuses(v ClusterView) bool {
	c := v.Copy
	turnedAway := t.s.currentCopy(c) && (c.Refused || c.Evicted || c.Deactivating || c.Finished != nil)
	return !v.InConfig || !v.connected() || v.collision() || v.Trouble != "" || turnedAway
}
