package cycle_test

import (
	"math/rand"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/cycle"
)

func FuzzACycleWithPreemptionAndSharesDecidesAsItsNaiveTwinDoes(f *testing.F) {
	for seed := range int64(300) {
		data := make([]byte, 150+seed)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		script := admissiontest.RichScript(data)
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
			if d.Verdict != admission.Admit {
				told[d.Workload.Name] = d.Because
			}
			if d.Verdict != admission.Wait {
				d.Message = ""
				got = append(got, d)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("decisions differ (-twin +cycle) of\n%s\n%s", script, diff)
		}
		for name, reason := range reasons {
			if told[name] != reason {
				t.Fatalf("%s was told %q, the twin says %q of\n%s", name, told[name], reason, script)
			}
		}
	})
}
