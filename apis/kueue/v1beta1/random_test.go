package v1beta1

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"switchyard.dev/apis/kueue/v1beta2"
)

// filler makes random objects from a seed that the schema of their version would
// let through, as far as conversion can tell.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 3).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) { q.Set(c.Int63n(1 << 40)) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<32), 0).UTC() },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") },
		func(s *corev1.PodSpec, c randfill.Continue) {
			c.Fill(&s.Containers)
			c.Fill(&s.Tolerations)
			c.Fill(&s.NodeSelector)
		},
		func(r *v1beta2.PriorityClassRef, c randfill.Continue) {
			*r = v1beta2.PriorityClassRef{Group: v1beta2.PodPriorityClassGroup, Kind: v1beta2.PodPriorityClassKind, Name: c.String(9)}
			if c.Bool() {
				r.Group, r.Kind = v1beta2.WorkloadPriorityClassGroup, v1beta2.WorkloadPriorityClassKind
			}
		},
		func(s *v1beta2.ClusterSource, c randfill.Continue) {
			if c.Bool() {
				s.KubeConfig = &v1beta2.KubeConfig{Location: "l" + c.String(9), LocationType: v1beta2.PathLocationType}
			} else {
				s.ClusterProfileRef = &v1beta2.ClusterProfileReference{Name: c.String(9)}
			}
		},
		func(s *v1beta2.AdmissionChecksStrategy, c randfill.Continue) {
			for i := range 1 + c.Intn(3) {
				s.AdmissionChecks = append(s.AdmissionChecks, v1beta2.AdmissionCheckStrategyRule{
					Name: v1beta2.AdmissionCheckReference(fmt.Sprint("check-", i)), OnFlavors: randomFlavors(c),
				})
			}
		},
		func(s *AdmissionChecksStrategy, c randfill.Continue) {
			for i := range c.Intn(3) {
				s.AdmissionChecks = append(s.AdmissionChecks, AdmissionCheckStrategyRule{
					Name: AdmissionCheckReference(fmt.Sprint("check-", i)), OnFlavors: randomFlavors(c),
				})
			}
		},
		func(p *FlavorFungibilityPolicy, c randfill.Continue) {
			*p = []FlavorFungibilityPolicy{"", "MayStopSearch", "TryNextFlavor", Borrow, Preempt}[c.Intn(5)]
		},
		func(s *WorkloadSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			s.PriorityClassSource = []string{"", WorkloadPriorityClassSource, PodPriorityClassSource}[c.Intn(3)]
		},
		fillHubTopology,
		fillTopology,
	)
}

// fillHubTopology makes an assignment that is split into slices at random.
func fillHubTopology(t *v1beta2.TopologyAssignment, c randfill.Continue) {
	*t = v1beta2.TopologyAssignment{Levels: []string{"block", "rack"}[:1+c.Intn(2)]}
	for range c.Intn(4) {
		t.Slices = append(t.Slices, v1beta2.EncodeTopologyAssignment(t.Levels, randomDomains(len(t.Levels), 1+c.Intn(4), c)).Slices...)
	}
}

func fillTopology(t *TopologyAssignment, c randfill.Continue) {
	*t = TopologyAssignment{Levels: []string{"block", "rack"}[:1+c.Intn(2)]}
	for _, domain := range randomDomains(len(t.Levels), c.Intn(6), c) {
		t.Domains = append(t.Domains, TopologyDomainAssignment(domain))
	}
}

// randomDomains have values that often share a beginning and an end.
func randomDomains(levels, n int, c randfill.Continue) []v1beta2.TopologyDomain {
	domains := make([]v1beta2.TopologyDomain, n)
	for i := range domains {
		domains[i].Count = 1 + c.Int31n(3)
		for range levels {
			domains[i].Values = append(domains[i].Values, fmt.Sprintf("%s%s%s",
				[]string{"", "pool-", "pol-é"}[c.Intn(3)], []string{"", "a", "b", "è", c.String(3)}[c.Intn(5)], []string{"", "-x", "-x.y"}[c.Intn(3)]))
		}
	}
	return domains
}

func randomFlavors(c randfill.Continue) []v1beta2.ResourceFlavorReference {
	var flavors []v1beta2.ResourceFlavorReference
	for i := range c.Intn(3) {
		flavors = append(flavors, v1beta2.ResourceFlavorReference(fmt.Sprint("flavor-", i)))
	}
	return flavors
}
