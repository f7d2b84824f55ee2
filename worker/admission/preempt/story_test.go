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

// needOf reads who needs what: "queue=a prio=5 f/gpu=4".
func needOf(t *testing.T, text string) preempt.Need {
	t.Helper()
	steps, err := admissiontest.Parse("admitted w " + text)
	if err != nil {
		t.Fatal(err)
	}
	r := steps[0].Reservation
	return preempt.Need{Queue: r.Queue, Usage: r.Usage, Workload: &admission.Workload{
		Key: r.Key, UID: r.UID, Queue: r.Queue, Priority: r.Priority, QueuedAt: r.QueuedAt,
	}}
}

func build(t *testing.T, script string) *admission.Snapshot {
	t.Helper()
	s, err := admissiontest.Build(script)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// textOf writes victims: "v (InClusterQueue), u (leaving)".
func textOf(victims []admission.Victim) string {
	words := make([]string, len(victims))
	for i, v := range victims {
		why := string(v.Because)
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

type story struct{ name, script, need, want string }

func tell(t *testing.T, stories []story, o preempt.Options) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			s := build(t, c.script)
			if got := textOf(preempt.Find(s, needOf(t, c.need), o)); got != c.want {
				t.Errorf("victims are %q, want %q", got, c.want)
			}
		})
	}
}
