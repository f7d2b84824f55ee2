package v1beta2

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func individual(prefix, suffix string, roots ...string) TopologyAssignmentSliceLevelValues {
	return TopologyAssignmentSliceLevelValues{Individual: &TopologyAssignmentSliceLevelIndividualValues{
		Prefix: ptr.To(prefix), Suffix: ptr.To(suffix), Roots: roots,
	}}
}

func universal(value string) TopologyAssignmentSliceLevelValues {
	return TopologyAssignmentSliceLevelValues{Universal: &value}
}

func TestAnySplitIntoSlicesIsRead(t *testing.T) {
	assignment := &TopologyAssignment{Levels: []string{"block", "host"}, Slices: []TopologyAssignmentSlice{
		{
			DomainCount:    2,
			ValuesPerLevel: []TopologyAssignmentSliceLevelValues{universal("b1"), individual("node-", "-x", "1", "2")},
			PodCounts:      TopologyAssignmentSlicePodCounts{Universal: ptr.To[int32](4)},
		},
		{
			DomainCount:    1,
			ValuesPerLevel: []TopologyAssignmentSliceLevelValues{universal("b2"), universal("node-3")},
			PodCounts:      TopologyAssignmentSlicePodCounts{Individual: []int32{1}},
		},
	}}
	want := []TopologyDomain{
		{Values: []string{"b1", "node-1-x"}, Count: 4}, {Values: []string{"b1", "node-2-x"}, Count: 4}, {Values: []string{"b2", "node-3"}, Count: 1},
	}
	if diff := cmp.Diff(want, assignment.Domains()); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
}

func TestACountOfDomainsThatNothingBacksCostsNothing(t *testing.T) {
	assignment := &TopologyAssignment{Levels: []string{"host"}, Slices: []TopologyAssignmentSlice{{
		DomainCount:    math.MaxInt32,
		ValuesPerLevel: []TopologyAssignmentSliceLevelValues{universal("n")},
		PodCounts:      TopologyAssignmentSlicePodCounts{Universal: ptr.To[int32](2)},
	}}}
	if diff := cmp.Diff([]TopologyDomain{{Values: []string{"n"}, Count: math.MaxInt32}}, assignment.Domains()); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
}

func TestASliceThatBreaksItsSchemaIsReadWithoutPanic(t *testing.T) {
	assignment := &TopologyAssignment{Levels: []string{"block", "host"}, Slices: []TopologyAssignmentSlice{{
		DomainCount:    3,
		ValuesPerLevel: []TopologyAssignmentSliceLevelValues{individual("", "", "a", "b")},
	}}}
	want := []TopologyDomain{{Values: []string{"a", ""}}, {Values: []string{"b", ""}}}
	if diff := cmp.Diff(want, assignment.Domains()); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
}

func TestADomainListedTwiceStaysListedTwice(t *testing.T) {
	domains := []TopologyDomain{{Values: []string{"b", "n"}, Count: 1}, {Values: []string{"b", "n"}, Count: 2}}
	got := EncodeTopologyAssignment([]string{"block", "host"}, domains).Domains()
	if diff := cmp.Diff(domains, got); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
}

func TestManyDomainsAreSplitWhereTheSchemaBoundsASlice(t *testing.T) {
	domains := make([]TopologyDomain, maxSliceDomains+1)
	for i := range domains {
		domains[i] = TopologyDomain{Values: []string{string(rune('a' + i%7))}, Count: 1}
	}
	got := EncodeTopologyAssignment([]string{"host"}, domains)
	if len(got.Slices) != 2 || got.Slices[0].DomainCount != maxSliceDomains || got.Slices[1].DomainCount != 1 {
		t.Errorf("%d slices", len(got.Slices))
	}
}
