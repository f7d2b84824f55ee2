package v1beta1

import (
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/kueue/v1beta2"
)

// BeyondAnnotation is on objects of this version only. It holds, as JSON, what they have in v1beta2 that this version has no
// word for, so that a client which reads an object, changes it and writes it back changes nothing that it never saw: it would
// be refused where that is immutable, and would lose it elsewhere. A client that drops the annotation drops those fields.
const BeyondAnnotation = "switchyard.dev/v1beta2-fields"

// beyondWorkload is what a Workload of v1beta2 has beyond this version.
type beyondWorkload struct {
	PreemptionGates      []v1beta2.PreemptionGate      `json:"preemptionGates,omitempty"`
	PreemptionGateStates []v1beta2.PreemptionGateState `json:"preemptionGateStates,omitempty"`
	// Constraints are those of the topology requests, by pod set.
	Constraints map[v1beta2.PodSetReference][]v1beta2.PodsetSliceRequiredTopologyConstraint `json:"constraints,omitempty"`
}

func (b *beyondWorkload) readFrom(w *v1beta2.Workload) {
	b.PreemptionGates, b.PreemptionGateStates = w.Spec.PreemptionGates, w.Status.PreemptionGates
	for i := range w.Spec.PodSets {
		request := w.Spec.PodSets[i].TopologyRequest
		if request == nil || len(request.PodsetSliceRequiredTopologyConstraints) == 0 {
			continue
		}
		if b.Constraints == nil {
			b.Constraints = map[v1beta2.PodSetReference][]v1beta2.PodsetSliceRequiredTopologyConstraint{}
		}
		b.Constraints[w.Spec.PodSets[i].Name] = request.PodsetSliceRequiredTopologyConstraints
	}
}

func (b *beyondWorkload) writeTo(w *v1beta2.Workload) {
	w.Spec.PreemptionGates, w.Status.PreemptionGates = b.PreemptionGates, b.PreemptionGateStates
	for i := range w.Spec.PodSets {
		if request := w.Spec.PodSets[i].TopologyRequest; request != nil {
			request.PodsetSliceRequiredTopologyConstraints = b.Constraints[w.Spec.PodSets[i].Name]
		}
	}
}

func (b *beyondWorkload) empty() bool {
	return len(b.PreemptionGates)+len(b.PreemptionGateStates)+len(b.Constraints) == 0
}

// beyondClusterQueue is what a ClusterQueue of v1beta2 has beyond this version.
type beyondClusterQueue struct {
	ConcurrentAdmissionPolicy *v1beta2.ConcurrentAdmissionPolicy `json:"concurrentAdmissionPolicy,omitempty"`
}

// keepBeyond notes on an object of this version what it has no word for; nothing if there is none. The annotations are not
// shared any more then.
func keepBeyond(meta *metav1.ObjectMeta, beyond any, none bool) error {
	_, had := meta.Annotations[BeyondAnnotation]
	if none && !had {
		return nil
	}
	meta.Annotations = maps.Clone(meta.Annotations)
	if none {
		delete(meta.Annotations, BeyondAnnotation)
		return nil
	}
	text, err := json.Marshal(beyond)
	if err != nil {
		return err
	}
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[BeyondAnnotation] = string(text)
	return nil
}

// takeBeyond reads and removes the note. One that another client has written, and that cannot be read, says nothing.
func takeBeyond(meta *metav1.ObjectMeta, beyond any) bool {
	text, noted := meta.Annotations[BeyondAnnotation]
	if !noted {
		return false
	}
	meta.Annotations = maps.Clone(meta.Annotations)
	delete(meta.Annotations, BeyondAnnotation)
	return json.Unmarshal([]byte(text), beyond) == nil
}
