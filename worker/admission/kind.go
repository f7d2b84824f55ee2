package admission

import (
	"strconv"
)

// appendKind appends a text that two workloads share exactly if quota, flavors and reasons to wait cannot tell them apart:
// their pod sets, what blocks them and the gates that keep them from preempting. Priority and age are not part of it: they
// rank, and whoever ranks better may preempt more (see order.Inadmissible).
func appendKind(b []byte, w *Workload) []byte {
	if w.Blocked != nil {
		b = append(b, 'B')
		b = appendText(b, string(w.Blocked.Because))
		b = appendText(b, w.Blocked.Message)
		b = strconv.AppendBool(b, w.Blocked.StepsAside)
	}
	for _, gate := range w.ClosedGates {
		b = append(b, 'G')
		b = appendText(b, gate)
	}
	for i := range w.PodSets {
		b = appendPodSet(b, &w.PodSets[i])
	}
	return b
}

func appendPodSet(b []byte, p *PodSet) []byte {
	b = append(b, 'P')
	b = appendText(b, p.Name)
	b = appendText(b, p.Group)
	b = strconv.AppendInt(b, int64(p.Count), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(p.MinCount), 10)
	for _, r := range p.Requests {
		b = append(b, 'R')
		b = appendText(b, r.Resource)
		b = strconv.AppendInt(b, int64(r.Amount), 10)
	}
	for _, l := range p.NodeSelector {
		b = append(b, 'S')
		b = appendText(b, l.Key)
		b = appendText(b, l.Value)
	}
	for _, term := range p.Affinity {
		b = append(b, 'A')
		b = appendTerm(b, term)
	}
	for _, t := range p.Tolerations {
		b = append(b, 'T')
		b = appendText(b, t.Key)
		b = appendText(b, string(t.Operator))
		b = appendText(b, t.Value)
		b = appendText(b, string(t.Effect))
	}
	return b
}

func appendTerm(b []byte, term Term) []byte {
	for _, r := range term {
		b = append(b, 'E')
		b = appendText(b, r.Key)
		b = appendText(b, string(r.Operator))
		for _, v := range r.Values {
			b = append(b, 'V')
			b = appendText(b, v)
		}
	}
	return b
}

// appendText writes the length before the text, so that no two lists of texts read the same.
func appendText(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}
