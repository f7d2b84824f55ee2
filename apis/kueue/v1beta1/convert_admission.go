package v1beta1

import (
	"switchyard.dev/apis/kueue/v1beta2"
)

func admissionToHub(a *Admission) *v1beta2.Admission {
	if a == nil {
		return nil
	}
	return &v1beta2.Admission{
		ClusterQueue:      a.ClusterQueue,
		PodSetAssignments: each(a.PodSetAssignments, assignmentToHub),
	}
}

// admissionFromHub always has a list of assignments: this version requires one.
func admissionFromHub(a *v1beta2.Admission) *Admission {
	if a == nil {
		return nil
	}
	return &Admission{
		ClusterQueue:      a.ClusterQueue,
		PodSetAssignments: append([]PodSetAssignment{}, each(a.PodSetAssignments, assignmentFromHub)...),
	}
}

func assignmentToHub(a PodSetAssignment) v1beta2.PodSetAssignment {
	return v1beta2.PodSetAssignment{
		Name: a.Name, Flavors: a.Flavors, ResourceUsage: a.ResourceUsage, Count: a.Count,
		TopologyAssignment:     topologyToHub(a.TopologyAssignment),
		DelayedTopologyRequest: v1beta2.DelayedTopologyRequestState(a.DelayedTopologyRequest),
	}
}

func assignmentFromHub(a v1beta2.PodSetAssignment) PodSetAssignment {
	return PodSetAssignment{
		Name: a.Name, Flavors: a.Flavors, ResourceUsage: a.ResourceUsage, Count: a.Count,
		TopologyAssignment:     topologyFromHub(a.TopologyAssignment),
		DelayedTopologyRequest: string(a.DelayedTopologyRequest),
	}
}

func topologyToHub(t *TopologyAssignment) *v1beta2.TopologyAssignment {
	if t == nil {
		return nil
	}
	return v1beta2.EncodeTopologyAssignment(t.Levels, each(t.Domains, func(d TopologyDomainAssignment) v1beta2.TopologyDomain {
		return v1beta2.TopologyDomain(d)
	}))
}

// topologyFromHub always has a list of domains: this version requires one.
func topologyFromHub(t *v1beta2.TopologyAssignment) *TopologyAssignment {
	if t == nil {
		return nil
	}
	domains := each(t.Domains(), func(d v1beta2.TopologyDomain) TopologyDomainAssignment {
		return TopologyDomainAssignment(d)
	})
	return &TopologyAssignment{Levels: t.Levels, Domains: append([]TopologyDomainAssignment{}, domains...)}
}
