package dispatch

import (
	"strings"
	"testing"
	"time"
)

// explanationCase is a table of questions under one policy.
type explanationCase struct{ name, state, local, clusters, want string }

func runExplanationCases(t *testing.T, p Policy, rows []explanationCase) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := step(t, p, r.state, r.local, r.clusters); got != r.want {
				t.Errorf("\n got %s\nwant %s", got, r.want)
			}
		})
	}
}

// runOnce has a grace of 5m, and leases of 40s with a margin of 20s: what was renewed a minute ago has run out.
func runOnce() Policy {
	p := RunOnce(5*time.Minute, 40*time.Second, 20*time.Second)
	p.ExplainAfter = 0
	return p
}

func TestRunOnceWaitsUntilTheJobMustHaveStopped(t *testing.T) {
	const stored = "bound w1; stops"
	runExplanationCases(t, runOnce(), []explanationCase{
		{"within the grace it waits", stored, "quota Ready", "w1 lost@1m fenced@1m \n w2 up", "InGrace; wake in 4m0s"},
		{
			"when the grace and lease, skew and kill grace are over it goes on", stored, "quota Ready kill=30s", "w1 lost@5m fenced@90s \n w2 up",
			"RemoteLost; epoch 2; owed w1@1!; Retry Admitting remote lost",
		},
		{"not a second earlier: the lease", stored, "quota Ready kill=30s", "w1 lost@5m fenced@89s \n w2 up", "FenceWait; wake in 1s"},
		{"not a second earlier: the grace", stored, "quota Ready", "w1 lost@299s fenced@299s \n w2 up", "InGrace; wake in 1s"},
		{"a long termination grace outlasts the timeout", stored, "quota Ready kill=1h", "w1 lost@5m fenced@5m \n w2 up", "FenceWait; wake in 56m0s"},
		{"a worker without a fence is held for ever", stored, "quota Ready", "w1 lost@50h \n w2 up", "Unfenced"},
		{"so is one whose lease is not known", stored, "quota Ready", "w1 lost@50h fenced@50h unrenewed \n w2 up", "Unfenced"},
		{"so is a job that was not stamped to stop", "bound w1", "quota Ready", "w1 lost@50h fenced@50h \n w2 up", "Unfenced"},
		{
			"until a person declares it gone", stored, "quota Ready", "w1 lost@1s gone \n w2 up",
			"DeclaredGone; epoch 2; owed w1@1!; Retry Admitting remote lost",
		},
		{"a person's word counts for nothing about a cluster in reach", stored, "quota Ready", "w1 up gone copy@1 stops admitted job@1", "Running"},
		{"nor about one that was not tried yet: it may be a word that a person forgot", stored, "quota Ready", "w1 unknown gone \n w2 up", "InGrace"},
		{"nor between a loss and the first attempt that fails", stored, "quota Ready", "w1 lost@1s untried gone fenced@1s \n w2 up", "InGrace; wake in 4m59s"},
		{
			"a cluster without credentials is never tried: the word counts when the grace is over", stored, "quota Ready",
			"w1 lost@5m untried gone \n w2 up", "DeclaredGone; epoch 2; owed w1@1!; Retry Admitting remote lost",
		},
		{"while the hub is cut off no clock runs", stored, "quota Ready", "w1 lost@1h fenced@1h \n w2 lost@1h", "CutOffHub"},
		{"the job that the lease has ended is dispatched again as evicted", stored, "quota Ready",
			"w1 up copy@1 stops evicted deactivating job@1 live@1 copy@1 stops evicted deactivating job@1",
			`RemoteEvicted; epoch 2; owed w1@1!; Retry Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"; event`},
	})
}

func TestRunOnceKeepsTheNextJobFromStarting(t *testing.T) {
	const stored = "epoch 2 of r2; nominated w2; owed w1@1!"
	local := "quota r2 evictions=1"
	runExplanationCases(t, runOnce(), []explanationCase{
		{"while the lease may be believed in", stored, local, "w1 lost@5m fenced@50s \n w2 up copy@2 stops admitted", "Owed; wake in 10s"},
		{"and lets it afterwards", stored, local, "w1 lost@5m fenced@60s \n w2 up copy@2 stops admitted", `Won; bound w2; stops; nominated; Ready The workload was admitted on "w2"; event`},
		{
			"offers are taken back from all clusters while it is not known how long", "epoch 2 of r2; nominated w2; owed w1@1", local,
			"w1 lost@5m fenced@60s \n w2 up copy@2 stops admitted", "Unfenced; nominated",
		},
		{
			"and removed", "epoch 2 of r2; owed w1@1", local, "w1 lost@5m fenced@60s \n w2 up copy@2 stops admitted",
			"Unfenced; Retract w2 below 3 sparing in the foreground",
		},
		{"a person's word discharges the debt", "epoch 2 of r2; owed w1@1", local, "w1 lost@5m gone \n w2 up", "Settled; nominated w2; owed"},
		{"but not before the cluster was tried", "epoch 2 of r2; owed w1@1", "quota r2 evictions=1", "w1 lost@1s untried gone \n w2 up", "Nominated; nominated w2"},
		{"also while the hub evicts", "epoch 2; bound w1; owed w1@1!", "quota Ready evicted evictions=1 active", "w1 lost@1s gone \n w2 up", "Draining; DrainStatus"},
		{
			"an offer that the fence has ended is made again", "nominated w2", "quota", "w2 up copy@1 stops deactivating evicted",
			"Offered; Retract w2 below 2 sparing in the foreground",
		},
		{"what is offered is stamped", "nominated w2", "quota", "w2 up", "Offered; CreateOffer w2@1 stops"},
		{"the stamp is noted with the binding, for later", "nominated w2", "quota", "w2 up copy@1 stops admitted", `Won; bound w2; stops; nominated; Ready The workload was admitted on "w2"; event`},
		{"an unstamped copy binds unstamped", "nominated w2", "quota", "w2 up copy@1 admitted", `Won; bound w2; nominated; Ready The workload was admitted on "w2"; event`},
		{"the job is stamped like its copy", "bound w2; stops", "quota Ready", "w2 up copy@1 stops admitted", "Starting; CreateJob w2@1 stops"},
		{"a lost note is taken from the copy", "bound w2", "quota Ready", "w2 up copy@1 stops admitted job@1", "RecordLost; stops"},
		{"what is suspected after a lost record is not known to stop", "", "quota evictions=1", "w1 lost@1h fenced@1h", "RecordLost; epoch 2 of r1; owed w1@1"},
		{
			"jobs are removed in the foreground, so that gone means ended", "epoch 2 of r2; nominated w1; owed w1@1!", local, "w1 up copy@1 stops job@1",
			"Offered; Retract w1 below 2 sparing in the foreground",
		},
	})
}

func TestOfAKindThatNoFenceStopsRunOnceSaysSoBeforeItIsDispatched(t *testing.T) {
	const note = "; no fence stops jobs of this kind: while its cluster is out of reach the workload waits for it to return"
	runExplanationCases(t, runOnce(), []explanationCase{
		{"when it is about to be offered", "", "quota unfenced", "w1 up", "Nominated; nominated w1; Pending offering to w1" + note},
		{"when it is admitted", "nominated w1", "quota unfenced", "w1 up copy@1 admitted", `Won; bound w1; nominated; Ready The workload was admitted on "w1"` + note + "; event"},
		{"and of no other", "", "quota", "w1 up", "Nominated; nominated w1"},
	})
	runExplanationCases(t, Compatible(5*time.Minute), []explanationCase{
		{"where no policy relies on fences it does not matter", "", "quota unfenced", "w1 up", "Nominated; nominated w1"},
	})
	l := parseLocal(t, "quota Ready unfenced")
	o := Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, "w1 up copy@1 admitted job@1")}
	if got := Explain(parseState(t, "bound w1"), o, runOnce()).Summary; !strings.Contains(got, note) {
		t.Errorf("its explanation is %s", got)
	}
}

func TestNeverLoseWaitsForTheWorkerOrAPerson(t *testing.T) {
	p := NeverLose(5 * time.Minute)
	p.ExplainAfter = 0
	runExplanationCases(t, p, []explanationCase{
		{"within what would be the grace", "bound w1", "quota Ready", "w1 lost@1m \n w2 up", "InGrace; wake in 4m0s"},
		{"and for ever after", "bound w1", "quota Ready", "w1 lost@500h \n w2 up", "Held"},
		{"a person's word ends it", "bound w1", "quota Ready", "w1 lost@1m gone \n w2 up", "DeclaredGone; epoch 2; owed w1@1; Retry Admitting remote lost"},
		{"a debt is owed until its cluster is back", "epoch 2 of r2; owed w1@1", "quota r2 evictions=1", "w1 lost@500h \n w2 up", "Held"},
		{"or until a person says so", "epoch 2 of r2; owed w1@1", "quota r2 evictions=1", "w1 lost@500h gone \n w2 up", "Settled; nominated w2; owed"},
		{"back again, the run goes on", "bound w1", "quota Ready", "w1 up copy@1 admitted job@1", "Running"},
	})
}

func TestTheCheckSaysWhichPolicyHoldsTheWorkloadAndUntilWhen(t *testing.T) {
	since := ` since 2026-01-01T11:59:00Z; `
	held := `InGrace; Ready Held by the policy "`
	for name, c := range map[string]struct {
		policy   Policy
		clusters string
		want     string
	}{
		"run once": {
			RunOnce(5*time.Minute, 40*time.Second, 20*time.Second), "w1 lost@1m fenced@1m \n w2 up",
			held + `run once": worker cluster "w1" cannot be reached` + since +
				`its job must have been stopped there by 2026-01-01T12:04:00Z, and may run elsewhere then; wake in 4m0s`,
		},
		"run once, unfenced": {
			RunOnce(5*time.Minute, 40*time.Second, 20*time.Second), "w1 lost@1m \n w2 up",
			held + `run once": worker cluster "w1" cannot be reached` + since + `nothing there would stop the job (fencing: none), ` +
				`so that the workload waits for its return, or until somebody declares it gone; wake in 4m0s`,
		},
		"never lose": {
			NeverLose(5 * time.Minute), "w1 lost@1m \n w2 up",
			held + `never lose": worker cluster "w1" cannot be reached` + since + `the workload waits for its return, or until somebody declares it gone; wake in 4m0s`,
		},
		"cut off": {
			NeverLose(5 * time.Minute), "w1 lost@1m \n w2 lost@1m",
			`CutOffHub; Ready Held by the policy "never lose": worker cluster "w1" cannot be reached` + since +
				`most clusters vanished together, so that it is the hub that is cut off: no clock runs`,
		},
		"compatible says nothing to its clients": {Compatible(5 * time.Minute), "w1 lost@1m \n w2 up", "InGrace; wake in 4m0s"},
		"a blink is not worth a write":           {NeverLose(5 * time.Minute), "w1 lost@1s \n w2 up", "InGrace; wake in 4s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := step(t, c.policy, "bound w1; stops", "quota Ready", c.clusters); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTheCheckForgetsAHoldThatIsOver(t *testing.T) {
	p := NeverLose(5 * time.Minute)
	s, l := parseState(t, "bound w1"), parseLocal(t, "quota Ready")
	l.Check.Message = Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, "w1 lost@1m")}, p).CheckResult.Message
	plan := Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, "w1 up copy@1 admitted job@1")}, p)
	if want := `The workload was admitted on "w1"`; plan.CheckResult.Message != want || plan.Event != nil {
		t.Errorf("got %q, event %v; want %q and none", plan.CheckResult.Message, plan.Event, want)
	}
}

func TestTheCheckForgetsThatTheJobCouldNotBeMade(t *testing.T) {
	s, l := parseState(t, "bound w1"), parseLocal(t, "quota Ready since=1m")
	at := func(text string) Plan {
		return Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, text)}, Compatible(time.Minute))
	}
	l.Check.Message = at("w1 up copy@1 admitted trouble:no").CheckResult.Message
	if got := at("w1 up copy@1 admitted trouble:no"); got.Stores {
		t.Errorf("it is said again: %+v", got.CheckResult)
	}
	plan := at("w1 up copy@1 admitted adopted job@1")
	if want := `The workload was admitted on "w1"`; plan.CheckResult.Message != want || plan.Event != nil {
		t.Errorf("got %q, event %v; want %q and none", plan.CheckResult.Message, plan.Event, want)
	}
}

func TestAWaitingWorkloadSaysWhoHoldsItBack(t *testing.T) {
	p := RunOnce(5*time.Minute, 40*time.Second, 20*time.Second)
	got := step(t, p, "epoch 2 of r2; owed w1@1", "quota r2 evictions=1 since=1m", "w1 lost@5m fenced@60s \n w2 up")
	for _, part := range []string{"Unfenced; Pending an earlier attempt may still run on w1", `Held by the policy "run once"`, `"w2" not eligible: not nominated`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
}
