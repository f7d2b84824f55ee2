package admission_test

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
)

// TestCandidatesAreTheHoldersNotBeingEvicted compares the index of holders with the holders themselves, after every step of
// scripts in which workloads come, move, are told to leave, are spared and go.
func TestCandidatesAreTheHoldersNotBeingEvicted(t *testing.T) {
	for seed := range int64(150) {
		random := rand.New(rand.NewSource(seed))
		data := make([]byte, 400)
		random.Read(data)
		steps, err := admissiontest.Parse(admissiontest.GenerateScript(data))
		if err != nil {
			t.Fatal(err)
		}
		s := admission.NewSnapshot()
		for _, step := range steps {
			step.Reservation.Priority = int32(random.Intn(3))
			step.Reservation.ReservedAt = admissiontest.TimeAt(random.Intn(3))
			step.Reservation.Evicted = random.Intn(6) == 0
			step.Reservation.LocalQueue = []string{"lq", "team"}[random.Intn(2)]
			step.Apply(cycle.NewScheduler(s))
			mark := admissiontest.Key(fmt.Sprintf("w%d", random.Intn(12)))
			if random.Intn(2) == 0 {
				s.MarkEvicting(mark)
			} else if random.Intn(2) == 0 {
				s.UnmarkEvicting(mark)
			}
			if got, want := candidatesText(s), expectedCandidatesText(s); got != want {
				t.Fatalf("seed %d after %q: the rolls say\n%sthe holders say\n%s", seed, step.Line, got, want)
			}
		}
	}
}

var (
	candidateQueues    = []string{"a", "b", "c", "d"}
	candidateResources = []admission.FlavorResource{{Flavor: "f", Resource: "gpu"}, {Flavor: "g", Resource: "gpu"}, {Flavor: "cpus", Resource: "cpu"}}
)

func candidatesText(s *admission.Snapshot) string {
	text := ""
	for _, queue := range candidateQueues {
		for _, name := range candidateResources {
			for _, roll := range s.Candidates(queue, name) {
				text += fmt.Sprint(queue, name, roll.LocalQueue, ":")
				for _, r := range roll.Reservations {
					text += " " + r.Name
				}
				text += "\n"
			}
		}
		leaving := s.AppendLeaving(nil, queue)
		slices.SortFunc(leaving, func(a, b *admission.Reservation) int { return a.Compare(b.Key) })
		for _, r := range leaving {
			if r.Queue == queue {
				text += queue + " leaves: " + r.Name + "\n"
			}
		}
	}
	return text
}

func expectedCandidatesText(s *admission.Snapshot) string {
	var staying, leaving []admission.Reservation
	for i := range 12 {
		r, holds := s.Reservation(admissiontest.Key(fmt.Sprintf("w%d", i)))
		switch {
		case !holds || r.Assumed:
		case r.Evicted:
			leaving = append(leaving, r)
		default:
			staying = append(staying, r)
		}
	}
	slices.SortFunc(staying, func(a, b admission.Reservation) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.ReservedAt.Compare(a.ReservedAt), cmp.Compare(a.UID, b.UID))
	})
	slices.SortFunc(leaving, func(a, b admission.Reservation) int { return a.Compare(b.Key) })
	text := ""
	for _, queue := range candidateQueues {
		for _, name := range candidateResources {
			for _, lq := range []string{"lq", "team"} {
				line := ""
				for _, r := range staying {
					if r.Queue == queue && r.LocalQueue == lq && holdsResource(r, name) {
						line += " " + r.Name
					}
				}
				if line != "" {
					text += fmt.Sprint(queue, name, admissiontest.Key(lq), ":") + line + "\n"
				}
			}
		}
		for _, r := range leaving {
			// A queue that neither owns nor uses anything is in no tree.
			if r.Queue == queue && s.Quota().QueueNode(queue) != nil {
				text += queue + " leaves: " + r.Name + "\n"
			}
		}
	}
	return text
}

func holdsResource(r admission.Reservation, name admission.FlavorResource) bool {
	for _, use := range r.Usage {
		if use.FlavorResource == name && use.Amount > 0 {
			return true
		}
	}
	return false
}
