package v1beta2

import (
	"math"
	"strings"
	"unicode/utf8"
)

// TopologyDomain is one domain of a TopologyAssignment in plain form.
type TopologyDomain struct {
	// Values of the levels, as many as there are levels.
	Values []string
	// Count of pods.
	Count int32
}

// maxSliceDomains is the greatest number of domains that one slice may list.
const maxSliceDomains = 100000

// EncodeTopologyAssignment writes domains, in their order, in the compact form
// (contract: kueue-api.md 1.16): one slice for each maxSliceDomains of them. A
// domain with fewer values than there are levels gets empty ones.
func EncodeTopologyAssignment(levels []string, domains []TopologyDomain) *TopologyAssignment {
	assignment := &TopologyAssignment{Levels: levels, Slices: []TopologyAssignmentSlice{}}
	for len(domains) > 0 {
		n := min(len(domains), maxSliceDomains)
		assignment.Slices = append(assignment.Slices, encodeSlice(len(levels), domains[:n]))
		domains = domains[n:]
	}
	return assignment
}

// Domains reads the compact form, however it was split into slices. A slice whose
// values are all universal names one domain only: its counts are added up, so that
// a domainCount which nothing backs costs no memory. A slice that breaks the rules
// of its schema yields empty values and zero counts, never a panic.
func (a *TopologyAssignment) Domains() []TopologyDomain {
	var domains []TopologyDomain
	for i := range a.Slices {
		slice := &a.Slices[i]
		listed := slice.listed()
		if listed == 0 {
			domains = append(domains, TopologyDomain{Values: slice.values(len(a.Levels), 0), Count: slice.PodCounts.sum(slice.DomainCount)})
		}
		for d := range min(int(slice.DomainCount), listed) {
			domains = append(domains, TopologyDomain{Values: slice.values(len(a.Levels), d), Count: slice.PodCounts.at(d)})
		}
	}
	return domains
}

// listed is the number of domains that the slice has values of their own for.
func (s *TopologyAssignmentSlice) listed() int {
	listed := 0
	for i := range s.ValuesPerLevel {
		if individual := s.ValuesPerLevel[i].Individual; individual != nil {
			listed = max(listed, len(individual.Roots))
		}
	}
	return listed
}

func (s *TopologyAssignmentSlice) values(levels, domain int) []string {
	values := make([]string, levels)
	for level := range min(levels, len(s.ValuesPerLevel)) {
		values[level] = s.ValuesPerLevel[level].at(domain)
	}
	return values
}

// sum adds up the counts of all domains of a slice, saturating.
func (c *TopologyAssignmentSlicePodCounts) sum(domains int32) int32 {
	var sum int64
	if c.Universal != nil {
		sum = int64(*c.Universal) * int64(domains)
	} else {
		for _, count := range c.Individual {
			sum += int64(count)
		}
	}
	return int32(min(max(sum, 0), math.MaxInt32))
}

func (c *TopologyAssignmentSlicePodCounts) at(domain int) int32 {
	switch {
	case c.Universal != nil:
		return *c.Universal
	case domain < len(c.Individual):
		return c.Individual[domain]
	}
	return 0
}

func (v *TopologyAssignmentSliceLevelValues) at(domain int) string {
	switch {
	case v.Universal != nil:
		return *v.Universal
	case v.Individual == nil || domain >= len(v.Individual.Roots):
		return ""
	}
	value := v.Individual.Roots[domain]
	if v.Individual.Prefix != nil {
		value = *v.Individual.Prefix + value
	}
	if v.Individual.Suffix != nil {
		value += *v.Individual.Suffix
	}
	return value
}

func encodeSlice(levels int, domains []TopologyDomain) TopologyAssignmentSlice {
	slice := TopologyAssignmentSlice{DomainCount: int32(len(domains)), PodCounts: encodeCounts(domains)}
	for level := range levels {
		slice.ValuesPerLevel = append(slice.ValuesPerLevel, encodeValues(valuesOf(level, domains)))
	}
	// A domain that was listed twice is listed twice, lest it be read as one.
	if levels > 0 && len(domains) > 1 && slice.listed() == 0 {
		last := &TopologyAssignmentSliceLevelIndividualValues{Roots: valuesOf(levels-1, domains)}
		slice.ValuesPerLevel[levels-1] = TopologyAssignmentSliceLevelValues{Individual: last}
	}
	return slice
}

func valuesOf(level int, domains []TopologyDomain) []string {
	values := make([]string, len(domains))
	for i, domain := range domains {
		if level < len(domain.Values) {
			values[i] = domain.Values[level]
		}
	}
	return values
}

func encodeCounts(domains []TopologyDomain) TopologyAssignmentSlicePodCounts {
	counts := make([]int32, len(domains))
	same := true
	for i, domain := range domains {
		counts[i] = domain.Count
		same = same && domain.Count == domains[0].Count
	}
	if same {
		return TopologyAssignmentSlicePodCounts{Universal: &counts[0]}
	}
	return TopologyAssignmentSlicePodCounts{Individual: counts}
}

func encodeValues(values []string) TopologyAssignmentSliceLevelValues {
	prefix := values[0]
	for _, value := range values {
		prefix = commonPrefix(prefix, value)
	}
	same, suffix := true, values[0][len(prefix):]
	roots := make([]string, len(values))
	for i, value := range values {
		same = same && value == values[0]
		roots[i] = value[len(prefix):]
		suffix = commonSuffix(suffix, roots[i])
	}
	if same {
		return TopologyAssignmentSliceLevelValues{Universal: &values[0]}
	}
	for i := range roots {
		roots[i] = strings.TrimSuffix(roots[i], suffix)
	}
	individual := &TopologyAssignmentSliceLevelIndividualValues{Roots: roots}
	if prefix != "" {
		individual.Prefix = &prefix
	}
	if suffix != "" {
		individual.Suffix = &suffix
	}
	return TopologyAssignmentSliceLevelValues{Individual: individual}
}

// commonPrefix never cuts a character in two.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (!startsCharacter(a[n:]) || !startsCharacter(b[n:])) {
		n--
	}
	return a[:n]
}

// commonSuffix never cuts a character in two.
func commonSuffix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !startsCharacter(a[len(a)-n:]) {
		n--
	}
	return a[len(a)-n:]
}

func startsCharacter(s string) bool { return s == "" || utf8.RuneStart(s[0]) }
