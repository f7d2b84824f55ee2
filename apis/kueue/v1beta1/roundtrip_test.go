package v1beta1

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"switchyard.dev/apis/kueue/v1beta2"
)

// same compares objects as clients see them: an empty list is an absent one.
var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
}

// kinds are all that have a conversion, with what it loses in each direction.
// A loss rewrites an object into what is left of it after a round trip.
var kinds = map[string]struct {
	spoke     func() conversion.Convertible
	hub       func() conversion.Hub
	lossOfHub func(conversion.Hub)
	loss      func(conversion.Convertible)
}{
	"LocalQueue": {
		spoke:     func() conversion.Convertible { return &LocalQueue{} },
		hub:       func() conversion.Hub { return &v1beta2.LocalQueue{} },
		lossOfHub: func(conversion.Hub) {},
		loss:      func(o conversion.Convertible) { o.(*LocalQueue).Status.Flavors = nil },
	},
	"Cohort": {
		spoke:     func() conversion.Convertible { return &Cohort{} },
		hub:       func() conversion.Hub { return &v1beta2.Cohort{} },
		lossOfHub: func(conversion.Hub) {},
		loss:      func(o conversion.Convertible) { forgetUse(o.(*Cohort).Status.FairSharing) },
	},
	"ClusterQueue": {
		spoke:     func() conversion.Convertible { return &ClusterQueue{} },
		hub:       func() conversion.Hub { return &v1beta2.ClusterQueue{} },
		lossOfHub: func(conversion.Hub) {},
		loss:      func(o conversion.Convertible) { lossOfClusterQueue(o.(*ClusterQueue)) },
	},
	"MultiKueueCluster": {
		spoke:     func() conversion.Convertible { return &MultiKueueCluster{} },
		hub:       func() conversion.Hub { return &v1beta2.MultiKueueCluster{} },
		lossOfHub: func(conversion.Hub) {},
		loss: func(o conversion.Convertible) {
			if spec := &o.(*MultiKueueCluster).Spec; spec.ClusterProfileRef != nil {
				spec.KubeConfig = KubeConfig{LocationType: v1beta2.SecretLocationType}
			}
		},
	},
	"Workload": {
		spoke:     func() conversion.Convertible { return &Workload{} },
		hub:       func() conversion.Hub { return &v1beta2.Workload{} },
		lossOfHub: func(o conversion.Hub) { lossOfHubWorkload(o.(*v1beta2.Workload)) },
		loss: func(o conversion.Convertible) {
			if spec := &o.(*Workload).Spec; spec.PriorityClassSource == "" {
				spec.PriorityClassName = ""
			}
		},
	},
}

func forgetUse(share *FairSharingStatus) {
	if share != nil {
		share.AdmissionFairSharingStatus = nil
	}
}

func lossOfClusterQueue(q *ClusterQueue) {
	forgetUse(q.Status.FairSharing)
	q.Status.PendingWorkloadsStatus = nil
	if f := q.Spec.FlavorFungibility; f != nil {
		f.WhenCanBorrow = FlavorFungibilityPolicy(policyToHub(f.WhenCanBorrow))
		f.WhenCanPreempt = FlavorFungibilityPolicy(policyToHub(f.WhenCanPreempt))
	}
	if len(q.Spec.AdmissionChecks) > 0 {
		q.Spec.AdmissionChecksStrategy = &AdmissionChecksStrategy{}
		for _, name := range unique(q.Spec.AdmissionChecks) {
			q.Spec.AdmissionChecksStrategy.AdmissionChecks = append(q.Spec.AdmissionChecksStrategy.AdmissionChecks, AdmissionCheckStrategyRule{Name: name})
		}
		q.Spec.AdmissionChecks = nil
	}
	if s := q.Spec.AdmissionChecksStrategy; s != nil && len(s.AdmissionChecks) == 0 {
		q.Spec.AdmissionChecksStrategy = nil
	}
}

// lossOfHubWorkload writes topology assignments in the one form in which they
// come back; nothing is lost.
func lossOfHubWorkload(w *v1beta2.Workload) {
	if w.Status.Admission == nil {
		return
	}
	for i := range w.Status.Admission.PodSetAssignments {
		assignment := &w.Status.Admission.PodSetAssignments[i]
		if t := assignment.TopologyAssignment; t != nil {
			assignment.TopologyAssignment = v1beta2.EncodeTopologyAssignment(t.Levels, t.Domains())
		}
	}
}

func FuzzARoundTripLosesOnlyWhatTheOtherVersionHasNoWordFor(f *testing.F) {
	for seed := range int64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		for name := range kinds {
			fromHub(t, name, seed)
			fromSpoke(t, name, seed)
		}
	})
}

func fromHub(t *testing.T, name string, seed int64) {
	t.Helper()
	kind := kinds[name]
	hub, want, got, spoke := kind.hub(), kind.hub(), kind.hub(), kind.spoke()
	filler(seed).Fill(hub)
	filler(seed).Fill(want)
	kind.lossOfHub(want)
	if err := spoke.ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	if err := spoke.ConvertTo(got); err != nil {
		t.Fatal(err)
	}
	report(t, fmt.Sprintf("%s v1beta2 to v1beta1 to v1beta2, seed %d", name, seed), want, got)
}

func fromSpoke(t *testing.T, name string, seed int64) {
	t.Helper()
	kind := kinds[name]
	spoke, want, got, hub := kind.spoke(), kind.spoke(), kind.spoke(), kind.hub()
	filler(seed).Fill(spoke)
	filler(seed).Fill(want)
	kind.loss(want)
	if err := spoke.ConvertTo(hub); err != nil {
		t.Fatal(err)
	}
	if err := got.ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	report(t, fmt.Sprintf("%s v1beta1 to v1beta2 to v1beta1, seed %d", name, seed), want, got)
}

func report(t *testing.T, what string, want, got any) {
	t.Helper()
	// The kind is set by the webhook, not by the conversion.
	ignoreKind := cmp.FilterPath(func(p cmp.Path) bool { return len(p) > 1 && p.Index(2).String() == ".TypeMeta" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, same, ignoreKind); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func FuzzTopologyAssignmentsComeBackAsTheyWent(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		topology := &TopologyAssignment{}
		filler(seed).Fill(topology)
		hub := topologyToHub(topology)
		for _, slice := range hub.Slices {
			for _, level := range slice.ValuesPerLevel {
				if (level.Universal == nil) == (level.Individual == nil) || level.Individual != nil && len(level.Individual.Roots) != int(slice.DomainCount) {
					t.Errorf("seed %d: the schema refuses %+v", seed, level)
				}
			}
		}
		if diff := cmp.Diff(topology, topologyFromHub(hub), same); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
	})
}

func TestSharedBeginningsAndEndsOfNodeNamesAreWrittenOnce(t *testing.T) {
	got := topologyToHub(&TopologyAssignment{Levels: []string{"pool", "host"}, Domains: []TopologyDomainAssignment{
		{Values: []string{"gpu", "node-01.example"}, Count: 4},
		{Values: []string{"gpu", "node-12.example"}, Count: 4},
		{Values: []string{"gpu", "node-13.example"}, Count: 2},
	}})
	want := &v1beta2.TopologyAssignment{Levels: []string{"pool", "host"}, Slices: []v1beta2.TopologyAssignmentSlice{{
		DomainCount: 3,
		ValuesPerLevel: []v1beta2.TopologyAssignmentSliceLevelValues{
			{Universal: ptr.To("gpu")},
			{Individual: &v1beta2.TopologyAssignmentSliceLevelIndividualValues{Prefix: ptr.To("node-"), Suffix: ptr.To(".example"), Roots: []string{"01", "12", "13"}}},
		},
		PodCounts: v1beta2.TopologyAssignmentSlicePodCounts{Individual: []int32{4, 4, 2}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("encoding (-want +got):\n%s", diff)
	}
}
