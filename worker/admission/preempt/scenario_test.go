package preempt_test

import (
	"fmt"
	"strings"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/preempt"
)

// parseRequest reads a preemptor and its need: "queue=a prio=5 f/gpu=4".
func parseRequest(t *testing.T, text string) preempt.Request {
	t.Helper()
	steps, err := admissiontest.Parse("admitted w " + text)
	if err != nil {
		t.Fatal(err)
	}
	r := steps[0].Reservation
	return preempt.Request{Queue: r.Queue, Usage: r.Usage, Workload: &admission.Workload{
		Key: r.Key, UID: r.UID, Queue: r.Queue, Priority: r.Priority, QueuedAt: r.QueuedAt,
	}}
}

func buildSnapshot(t *testing.T, script string) *admission.Snapshot {
	t.Helper()
	s, err := admissiontest.BuildSnapshot(script)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// victimsText writes victims: "v (InClusterQueue), u (leaving)".
func victimsText(victims []admission.Victim) string {
	words := make([]string, len(victims))
	for i, v := range victims {
		why := string(v.Reason)
		if v.Evicted {
			why = "leaving"
		}
		words[i] = fmt.Sprintf("%s (%s)", v.Workload.Name, why)
	}
	return strings.Join(words, ", ")
}

// modeName names a grade.
func modeName(m assign.Mode) string {
	return []string{"NoFit", "NoCandidates", "Preempt", "Reclaim", "Fit"}[m]
}

type scenario struct{ name, script, request, want string }

func runScenarios(t *testing.T, stories []scenario, o preempt.Options) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			s := buildSnapshot(t, c.script)
			if got := victimsText(preempt.Find(s, parseRequest(t, c.request), o)); got != c.want {
				t.Errorf("victims are %q, want %q", got, c.want)
			}
		})
	}
}
