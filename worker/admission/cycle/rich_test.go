package cycle_test

import (
	"math/rand"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
)

// withoutTexts leaves out of a comparison what is said of flavors: its figures are those of the moment at which it was made.
var withoutTexts = cmpopts.IgnoreFields(admission.Assignment{}, "Considered")

func FuzzPreemptionAndFairSharingMatchNaiveCycle(f *testing.F) {
	for seed := range int64(300) {
		data := make([]byte, 150+seed)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		script := admissiontest.GenerateRichScript(data)
		steps, err := admissiontest.Parse(script)
		if err != nil {
			t.Fatalf("%v in\n%s", err, script)
		}
		facts := admissiontest.NewFacts()
		for _, step := range steps {
			facts.Apply(step)
		}
		last := steps[len(steps)-1]
		s := facts.Snapshot()
		plan := cycle.Run(s, last.Now, last.Options)
		want, reasons := admissiontest.NaiveCycle(facts, last.Now, last.Options)
		var got []admission.Decision
		told := map[string]admission.Reason{}
		for _, d := range plan.Decisions {
			if d.Outcome != admission.Admit {
				told[d.Workload.Name] = d.Reason
			}
			if d.Outcome != admission.Wait {
				d.Message = ""
				got = append(got, d)
			}
		}
		if diff := gocmp.Diff(want, got, withoutTexts); diff != "" {
			t.Fatalf("decisions differ (-twin +cycle) of\n%s\n%s", script, diff)
		}
		for name, reason := range reasons {
			if told[name] != reason {
				t.Fatalf("%s was told %q, the twin says %q of\n%s", name, told[name], reason, script)
			}
		}
	})
}

// In a queue that never preempts, a pod set that waits for others to end does not hide that a later one asks for too much.
func TestALaterPodSetThatIsTooLargeIsReported(t *testing.T) {
	s, err := admissiontest.BuildSnapshot("flavor f\n queue d f gpu=3\n admitted v queue=d f/gpu=1\n pending w queue=d gpu=3 + more gpu=1")
	if err != nil {
		t.Fatal(err)
	}
	plan := cycle.Run(s, time.Time{}, cycle.Options{WithoutPartialAdmission: true})
	const want = "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, 1 more needed; " +
		"couldn't assign flavors to pod set more: insufficient quota for gpu in flavor f, previously considered podsets requests (3) " +
		"+ current podset request (1) > maximum capacity (3)"
	if len(plan.Decisions) != 1 || plan.Decisions[0].Reason != admission.ExceedsMaxQuota || plan.Decisions[0].Message != want {
		t.Errorf("decided %+v", plan.Decisions)
	}
}
