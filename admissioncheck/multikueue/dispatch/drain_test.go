package dispatch

import (
	"testing"
	"time"
)

func TestTheCheckSaysWhyAJobStaysOnADrainedCluster(t *testing.T) {
	s, p := parseState(t, "bound w1"), Compatible(time.Minute)
	l := parseLocal(t, "quota Ready since=1m")
	l.Check.Message = msgAdmitted("w1")
	others := " \n w2 up cordoned \n w3 lost@1m \n w4 up drained \n w5 up unfit:NoRoom \n w6 up unlisted copy@0 foreign \n w7 up copy@0 foreign \n w8 up unlisted trouble:no-such-kind"
	step := func(text string) Plan {
		plan := Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, text)}, p)
		if plan.Event != nil {
			t.Errorf("an event for %q", text)
		}
		return plan
	}
	say := func(text string) string {
		plan := step(text)
		l.Check.Message = plan.CheckResult.Message
		return l.Check.Message
	}
	running := " copy@1 admitted adopted job@1"

	want := `The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it; "w2" not eligible: is cordoned; ` +
		`"w3" lost: cannot be reached; "w4" not eligible: is being drained; "w5" not eligible: no; ` +
		`"w7" not eligible: an object of the same name there is not ours; "w8" refused: does not take it: no-such-kind`
	if got := say("w1 up draining drained" + running + others); got != want {
		t.Errorf("its turn fails:\n got %s\nwant %s", got, want)
	}
	for name, text := range map[string]string{
		"its turn fails again":                           "w1 up draining drained" + running + others,
		"it is another's turn":                           "w1 up drained" + running + others,
		"another's, and only this one is shown":          "w1 up drained" + running,
		"another's, and another cluster could take this": "w1 up drained" + running + " \n w2 up",
	} {
		if plan := step(text); plan.Stores {
			t.Errorf("%s: writes %+v", name, plan.CheckResult)
		}
	}
	if plan := step("w1 up draining drained" + running + " behind" + others); len(plan.Actions) != 1 || plan.Actions[0].Verb != CopyStatus {
		t.Errorf("its status is not copied meanwhile: %+v", plan.Actions)
	}
	if got := say("w1 up draining drained" + running); got != `The workload was admitted on "w1"; it is to leave "w1", but no other cluster can take it` {
		t.Errorf("there is something else to say: %s", got)
	}
	if got := say("w1 up" + running + others); got != msgAdmitted("w1") {
		t.Errorf("the drain is over: %s", got)
	}
}

func TestNothingIsSaidOfADrainBeforeThereIsAJob(t *testing.T) {
	runStepCases(t, []stepCase{
		{
			"the job is made first", "bound w1", "quota Ready since=1m", "w1 up draining copy@1 admitted \n w2 up cordoned",
			"Starting; CreateJob w1@1",
		}, {
			"and why it cannot be made goes before", "bound w1", "quota Ready since=1m", "w1 up draining copy@1 admitted trouble:no \n w2 up cordoned",
			`Starting; Ready The workload was admitted on "w1"; its job cannot be created there: no`,
		},
	})
}
