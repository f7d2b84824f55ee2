package dispatch

import (
	"testing"
	"time"
)

// The job of a Workload that is deleted gets another, which knows nothing of this one.
func TestADeletedWorkloadWhoseJobStaysIsKeptWhileItsJobMayRun(t *testing.T) {
	const left = "epoch 2; bound w1; owed w1@1"
	runStepCases(t, []stepCase{
		{
			"where its job was is recorded before anything is done", "bound w1; stops", "kept quota Ready active",
			"w1 up copy@1 admitted adopted job@1",
			"Deleted; epoch 2; owed w1@1!",
		}, {
			"then everything is removed, and what its job says last is copied", left, "kept quota Ready active",
			"w1 up copy@1 admitted adopted job@1 behind \n w2 up copy@1",
			"Deleted; Retract w1 below 3 sparing; Retract w2 below 3 sparing; CopyStatus w1",
		}, {
			"of two that end at the same time, the later one's", "epoch 3; owed w1@1 w2@2", "kept active",
			"w1 up copy@1 admitted adopted job@1 behind \n w2 up copy@2 admitted adopted job@2 behind",
			"Deleted; Retract w1 below 4 sparing; Retract w2 below 4 sparing; CopyStatus w2",
		}, {
			"also when the hub shows that already", "epoch 3; owed w1@1 w2@2", "kept active",
			"w1 up copy@1 admitted adopted job@1 behind \n w2 up copy@2 admitted adopted job@2",
			"Deleted; Retract w1 below 4 sparing; Retract w2 below 4 sparing",
		}, {
			"a job that is gone is looked for, and nothing said any more to be active", left, "kept quota Ready active", "w1 up",
			"Deleted; LiveRead w1",
		}, {
			"if a live read finds none, the hub's job is made to show no active pods", left, "kept quota Ready active", "w1 up live@2",
			"Deleted; DrainStatus",
		}, {
			"and then the workload may go", left, "kept quota Ready", "w1 up live@2",
			"Settled; bound; owed",
		}, {
			"not before", left, "kept quota Ready", "w1 up",
			"Deleted; LiveRead w1",
		}, {
			"when all is settled nothing is left to do", "epoch 2", "kept quota Ready", "w1 up",
			"Deleted",
		}, {
			"offers are removed and not waited for", "nominated w1 w2", "kept quota", "w1 up copy@1 \n w2 lost@1h copy@1",
			"Deleted; Retract w1 below 2 sparing",
		}, {
			"a run that has ended meanwhile has ended", left, "kept quota Ready active", "w1 up copy@1 admitted adopted job@1 finished:Succeeded",
			"RunFinished; Finish w1 Succeeded",
		}, {
			"one that is over is cleaned up", "bound w1", "kept finished", "w1 up copy@1 admitted finished:Succeeded job@1 finished:Succeeded",
			"Deleted; Retract w1 below 2",
		}, {
			"a cluster out of reach keeps it for the grace", left, "kept quota Ready", "w1 lost@4s \n w2 up",
			"Deleted; wake in 1s",
		}, {
			"which is told", left, "kept quota Ready", "w1 lost@1m \n w2 up",
			`Deleted; Ready Kept although it is being deleted, because its job may still run; worker cluster "w1" cannot be reached since ` +
				`2026-01-01T11:59:00Z: the workload is let go at 2026-01-01T12:14:00Z; warning; wake in 14m0s`,
		}, {
			"also if its check is gone", left, "kept quota dropped", "w1 lost@4s \n w2 up",
			"Deleted; wake in 14m56s",
		}, {
			"when the grace is over the hub's job is not waited for either", left, "kept quota Ready active", "w1 lost@15m \n w2 up",
			"Deleted; DrainStatus",
		}, {
			"and the workload goes", left, "kept quota Ready", "w1 lost@15m \n w2 up",
			"Settled; bound; owed",
		}, {
			"also if the hub had given the cluster up before", "epoch 2 of r2; owed w1@1", "kept quota r2 evictions=1", "w1 lost@15m \n w2 up",
			"Settled; owed",
		},
	})
}

func TestWhatHoldsAWorkloadKeepsItWhenItIsDeleted(t *testing.T) {
	const left, local = "epoch 2; owed w1@1", "kept quota Ready"
	for name, p := range map[string]Policy{
		"never lose": NeverLose(5 * time.Minute), "run once, unfenced": RunOnce(5*time.Minute, 40*time.Second, 20*time.Second),
	} {
		p.ExplainAfter = 0
		t.Run(name, func(t *testing.T) {
			runExplanationCases(t, p, []explanationCase{
				{"for as long as the cluster is away", left, local, "w1 lost@500h \n w2 up", "Deleted"},
				{"but the hub's quota, if another workload is to have it, for the grace only", "epoch 2; bound w1; owed w1@1", local + " evicted awaited", "w1 lost@500h \n w2 up", "LocalEvicted; bound"},
				{"until a person gives the word", left, local, "w1 lost@500h gone \n w2 up", "Settled; owed"},
				{"or it is back and was read", left, local, "w1 up live@2 stopped@1 \n w2 up", "Settled; owed"},
			})
		})
	}
}

func TestWhoDeletesAHeldWorkloadIsToldOnce(t *testing.T) {
	p := NeverLose(5 * time.Minute)
	s, l := parseState(t, "epoch 2; owed w1@1"), parseLocal(t, "kept quota Ready")
	ask := func() Plan {
		return Step(s, Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, "w1 lost@500h \n w2 up")}, p)
	}
	told := ask()
	want := `Kept although it is being deleted, because its job may still run; worker cluster "w1" cannot be reached since ` +
		`2025-12-11T16:00:00Z: the workload waits for its return, or until somebody declares it gone`
	if told.Event == nil || told.Event.Message != want || told.CheckResult.Message != want || !told.Next.Equal(s) {
		t.Fatalf("told %q, event %+v", told.CheckResult.Message, told.Event)
	}
	l.Check.Message = told.CheckResult.Message
	if again := ask(); again.Stores || again.Event != nil {
		t.Errorf("told again: %+v", again)
	}
}

func TestAPredecessorsJobOnAClusterOutOfReachIsADebt(t *testing.T) {
	p := NeverLose(5 * time.Minute)
	p.ExplainAfter = 0
	runExplanationCases(t, p, []explanationCase{
		{"that of a job that was seen last", "", "quota", "w1 lost@1h copy@3 predecessor job@3 predecessor \n w2 up", "Owed; owed w1@0"},
		{"also of one that may have been made since", "", "quota", "w1 lost@1h copy@3 predecessor admitted \n w2 up", "Owed; owed w1@0"},
		{"and while a cluster was nominated already", "nominated w2", "quota", "w1 lost@1h copy@1 predecessor admitted \n w2 up copy@1 admitted", "Owed; nominated; owed w1@0"},
		{"it is recorded once", "owed w1@0", "quota", "w1 lost@1h job@3 predecessor \n w2 up", "Held"},
		{"an offer that was never admitted is none", "", "quota", "w1 lost@1h copy@3 predecessor \n w2 up", "Nominated; nominated w2"},
		{"nor is a run that has ended", "", "quota", "w1 lost@1h copy@3 predecessor admitted adopted job@3 predecessor finished:Failed \n w2 up", "Nominated; nominated w2"},
		{"nor what a person has declared gone", "", "quota", "w1 lost@1h gone job@3 predecessor \n w2 up", "Nominated; nominated w2"},
		{"a cluster in reach needs no record", "", "quota", "w1 up job@3 predecessor \n w2 up", "Nominated; nominated w1 w2"},
		{"back again it is cleaned", "owed w1@0", "quota", "w1 up job@3 predecessor \n w2 up", "Nominated; nominated w1 w2"},
		{"read", "nominated w1 w2; owed w1@0", "quota", "w1 up \n w2 up copy@1", "Offered; LiveRead w1"},
		{"and settled", "nominated w1 w2; owed w1@0", "quota", "w1 up live@1 \n w2 up copy@1", "Settled; owed"},
	})
}
