package order

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOriginsOfAClassAreCounted holds the counts against those of the members themselves, after every step.
func TestOriginsOfAClassAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := NewQueue[string, int]("line")
	kinds, doors := []string{"a", "b"}, []string{"x", "y", "z"}
	var members []*Member[string, int]
	for step := range 2000 {
		switch r.IntN(5) {
		case 0, 1:
			spot := Membership{Class: kinds[r.IntN(2)], Origin: doors[r.IntN(3)]}
			members = append(members, l.Push(spot.Class, Rank{Priority: int32(r.IntN(3)), UID: string(rune('0' + step))}, spot))
		case 2:
			if len(members) > 0 {
				i := r.IntN(len(members))
				l.Remove(members[i])
				members = append(members[:i], members[i+1:]...)
			}
		case 3:
			if l.Head() != nil {
				l.MarkInadmissible(WaitReason{Reason: "full"}, Inadmissible[int]{})
			}
		case 4:
			l.RequeueAll()
		}
		want, got := map[string]int{}, map[string]int{}
		for _, m := range members {
			want[m.Value]++
			want[m.Value+m.origin.(string)]++
		}
		l.EachClass(func(k ClassCount[string, int]) {
			got[k.First.Value] = k.Len
			for door, n := range k.Origins {
				got[k.First.Value+door.(string)] = n
			}
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d: -want +got:\n%s", step, diff)
		}
	}
}
