package admission

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"switchyard.dev/worker/admission/amount"
)

// FuzzClassKeyIsEqualForEqualRequestsOnly spells two workloads made of few and treacherous words.
func FuzzClassKeyIsEqualForEqualRequestsOnly(f *testing.F) {
	for seed := range int64(200) {
		data := make([]byte, 24)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data[:12], data[12:])
		f.Add(data[:3], data[3:6])
		f.Add(data, data)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		v, w := workloadFromBytes(a), workloadFromBytes(b)
		same := cmp.Equal(v.PodSets, w.PodSets, cmpopts.EquateEmpty()) && cmp.Equal(v.Blocked, w.Blocked)
		if got := string(appendClassKey(nil, &v)) == string(appendClassKey(nil, &w)); got != same {
			t.Errorf("%+v and %+v are of the same kind: %v", v, w, got)
		}
	})
}

func workloadFromBytes(data []byte) Workload {
	w := Workload{PodSets: []PodSet{{}}}
	words := []string{"", "a", "1:a", "S", "P", "ab"}
	for i, b := range data {
		p, text := &w.PodSets[len(w.PodSets)-1], words[int(b/16)%len(words)]
		switch b % 10 {
		case 0:
			w.PodSets = append(w.PodSets, PodSet{Name: text})
		case 1:
			p.Group = text
		case 2:
			p.Count = int32(b / 16)
		case 3:
			p.Requests = append(p.Requests, amount.Request{Resource: text, Amount: amount.Amount(i)})
		case 4:
			p.NodeSelector = append(p.NodeSelector, Label{Key: text, Value: words[i%len(words)]})
		case 5:
			p.Affinity = append(p.Affinity, Term{})
		case 6:
			p.Affinity = append(p.Affinity, Term{{Key: text, Operator: In, Values: words[:i%3]}, {Key: text}})
		case 7:
			p.Tolerations = append(p.Tolerations, Toleration{Key: text, Effect: NoSchedule})
		case 8:
			w.Blocked = &Block{Reason: Reason(text), LetsOthersPass: b > 128}
		case 9:
			p.Tolerations = append(p.Tolerations, Toleration{Operator: TolerateExists, Value: text})
		}
	}
	return w
}

func TestPriorityAndAgeAreNotInTheClassKey(t *testing.T) {
	a, b := Workload{Priority: 1, UID: "a"}, Workload{Priority: 2, UID: "b", QueuedAt: Workload{}.QueuedAt.Add(1)}
	if string(appendClassKey(nil, &a)) != string(appendClassKey(nil, &b)) {
		t.Error("they only rank")
	}
}
