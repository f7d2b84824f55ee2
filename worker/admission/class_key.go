package admission

import (
	"strconv"
)

// appendClassKey appends a text that two workloads share exactly if quota, flavors and reasons to wait cannot tell them
// apart: their pod sets, what blocks them and the gates that keep them from preempting. Priority and age are not part of it:
// a better rank may allow more preemption (see order.Inadmissible).
func appendClassKey(b []byte, w *Workload) []byte {
	if w.Blocked != nil {
		b = append(b, 'B')
		b = AppendKeyPart(b, string(w.Blocked.Reason))
		b = AppendKeyPart(b, w.Blocked.Message)
		b = strconv.AppendBool(b, w.Blocked.LetsOthersPass)
	}
	for _, gate := range w.ClosedGates {
		b = append(b, 'G')
		b = AppendKeyPart(b, gate)
	}
	if w.Replaces != (Key{}) {
		b = append(b, 'O')
		b = AppendKeyPart(b, w.Replaces.Namespace)
		b = AppendKeyPart(b, w.Replaces.Name)
	}
	for i := range w.PodSets {
		b = appendPodSet(b, &w.PodSets[i])
	}
	return b
}

// appendPodSet appends all of a pod set that decides about flavors and quota.
func appendPodSet(b []byte, p *PodSet) []byte {
	b = append(b, 'P')
	b = AppendKeyPart(b, p.Name)
	b = AppendKeyPart(b, p.Group)
	b = strconv.AppendInt(b, int64(p.Count), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(p.MinCount), 10)
	for _, r := range p.Requests {
		b = append(b, 'R')
		b = AppendKeyPart(b, r.Resource)
		b = strconv.AppendInt(b, int64(r.Amount), 10)
	}
	for _, f := range p.Flavors {
		b = append(b, 'F')
		b = AppendKeyPart(b, f.Resource)
		b = AppendKeyPart(b, f.Flavor)
	}
	for _, l := range p.NodeSelector {
		b = append(b, 'S')
		b = AppendKeyPart(b, l.Key)
		b = AppendKeyPart(b, l.Value)
	}
	for _, term := range p.Affinity {
		b = append(b, 'A')
		b = appendTerm(b, term)
	}
	for _, t := range p.Tolerations {
		b = append(b, 'T')
		b = AppendKeyPart(b, t.Key)
		b = AppendKeyPart(b, string(t.Operator))
		b = AppendKeyPart(b, t.Value)
		b = AppendKeyPart(b, string(t.Effect))
	}
	return b
}

// appendTerm appends one term of a node affinity.
func appendTerm(b []byte, term Term) []byte {
	for _, r := range term {
		b = append(b, 'E')
		b = AppendKeyPart(b, r.Key)
		b = AppendKeyPart(b, string(r.Operator))
		for _, v := range r.Values {
			b = append(b, 'V')
			b = AppendKeyPart(b, v)
		}
	}
	return b
}

// AppendKeyPart appends a text to a key, its length first, so that no two lists of texts give the same key.
func AppendKeyPart(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}
