package cycle_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission/admissiontest"
)

// scenario is a script and what it shows, both with their indentation taken away.
type scenario struct{ name, script, want string }

func runScenarios(t *testing.T, stories []scenario) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			got, err := admissiontest.RunScript(c.script)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(trimLines(c.want), trimLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func trimLines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

const insufficientQuota = "WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, "

func TestOneCycleAdmitsAsManyAsFit(t *testing.T) {
	runScenarios(t, []scenario{{
		"all that fit are admitted, best rank first",
		`flavor f
		queue a f gpu=8
		pending late queue=a gpu=2 at=9
		pending early queue=a gpu=2 at=1
		pending urgent queue=a gpu=2 at=5 prio=7
		pending huge queue=a gpu=4 at=3
		cycle`,
		`admit urgent to a: main 1 gpu=2@f
		admit early to a: main 1 gpu=2@f
		admit huge to a: main 1 gpu=4@f
		wait late in a: ` + insufficientQuota + `2 more needed`,
	}, {
		"a head that cannot be admitted lets smaller ones pass",
		`flavor f
		queue a f gpu=8
		admitted x queue=a f/gpu=4
		pending big queue=a gpu=6 at=1
		pending small queue=a gpu=3 at=2
		cycle`,
		`admit small to a: main 1 gpu=3@f
		wait big in a: ` + insufficientQuota + `2 more needed`,
	}, {
		"a strict queue waits for its head",
		`flavor f
		queue a strict f gpu=8
		admitted x queue=a f/gpu=4
		pending first queue=a gpu=4 at=1
		pending big queue=a gpu=6 at=2
		pending small queue=a gpu=1 at=3
		cycle
		status a`,
		`admit first to a: main 1 gpu=4@f
		wait big in a: ` + insufficientQuota + `6 more needed
		a: 2 active, 0 inadmissible, 2 reserving, 1 admitted; f/gpu 8 reserved, 4 used`,
	}, {
		"queues compete: less borrowing first, then priority, then age",
		`flavor f
		queue a cohort=x f gpu=2
		queue b cohort=x f gpu=2
		queue c cohort=x f gpu=2
		pending borrower queue=a gpu=3 prio=9 at=1
		pending old queue=b gpu=1 at=2
		pending young queue=c gpu=1 at=3
		pending urgent queue=c gpu=1 prio=1 at=4
		cycle`,
		`admit urgent to c: main 1 gpu=1@f
		admit old to b: main 1 gpu=1@f
		admit young to c: main 1 gpu=1@f
		admit borrower to a: main 1 gpu=3@f; borrowing 1`,
	}, {
		"who loses the race is told why, in the same cycle",
		`flavor f
		queue a cohort=x f gpu=2
		queue b cohort=x f gpu=2
		pending one queue=a gpu=4 at=1
		pending two queue=b gpu=4 at=2
		cycle`,
		`admit one to a: main 1 gpu=4@f; borrowing 1
		wait two in b: ` + insufficientQuota + `4 more needed`,
	}, {
		"who loses the race for one flavor takes the next",
		`flavor f
		flavor g
		queue a cohort=x f gpu=2 g gpu=0
		queue b cohort=x f gpu=2 g gpu=4
		pending one queue=a gpu=4 at=1
		pending two queue=b gpu=4 at=2
		cycle`,
		`admit one to a: main 1 gpu=4@f; borrowing 1
		admit two to b: main 1 gpu=4@g`,
	}, {
		"who must borrow from farther away after the race lets a nearer borrower pass",
		`flavor f
		cohort top f gpu=4
		cohort x parent=top f gpu=2
		cohort y parent=top f gpu=2
		queue a cohort=x f gpu=0
		queue b cohort=y f gpu=0
		queue c cohort=x f gpu=0
		pending second queue=a gpu=2 prio=9
		pending third queue=b gpu=2 prio=1
		pending first queue=c gpu=2 prio=10
		cycle`,
		`admit first to c: main 1 gpu=2@f; borrowing 1
		admit third to b: main 1 gpu=2@f; borrowing 1
		admit second to a: main 1 gpu=2@f; borrowing 2`,
	}, {
		"who would rather not borrow looks again when the race moved the lender away",
		`flavor f
		flavor g
		flavor cpus
		cohort top f gpu=4 | cpus cpu=8
		cohort x parent=top f gpu=2 g gpu=2
		queue a borrow-next cohort=x f gpu=0 g gpu=0 | cpus cpu=0
		queue b cohort=x f gpu=0
		pending one queue=a gpu=2 cpu=1
		pending two queue=b gpu=2
		cycle`,
		`admit two to b: main 1 gpu=2@f; borrowing 1
		admit one to a: main 1 cpu=1@cpus gpu=2@g; borrowing 2`,
	}, {
		"a cycle with a limit leaves the rest for another",
		`flavor f
		queue a f gpu=8
		pending one queue=a gpu=1 at=1
		pending two queue=a gpu=1 at=2
		cycle max=1
		cycle max=1
		cycle`,
		`admit one to a: main 1 gpu=1@f
		more
		admit two to a: main 1 gpu=1@f`,
	}, {
		"resources that no group covers can be ignored",
		`flavor f
		queue a f gpu=8
		pending one queue=a gpu=1 tpu=1
		cycle ignore-undeclared`,
		`admit one to a: main 1 gpu=1@f`,
	}})
}

func TestHeadsOfABoundedCycleAreReevaluated(t *testing.T) {
	const left = `
		flavor f
		flavor g
		cohort x f gpu=2
		queue a cohort=x f gpu=0 g gpu=8
		queue b f gpu=8
		admitted h queue=a f/gpu=2
		pending first queue=b prio=9 gpu=1
		pending second queue=a gpu=2
		cycle max=1
		`
	const first = "admit first to b: main 1 gpu=1@f\n more\n"
	runScenarios(t, []scenario{
		{"it stands if nothing happened", left + "cycle", first + "admit second to a: main 1 gpu=2@g"},
		{"quota that was given back may do better", left + "release h\n cycle", first + "admit second to a: main 1 gpu=2@f; borrowing 1"},
		{"so may a limit that was raised", left + "cohort x f gpu=4\n cycle", first + "admit second to a: main 1 gpu=2@f; borrowing 1"},
		{
			"a flavor may have become unfit", left + "flavor g taint=k:NoSchedule\n cycle", first +
				"wait second in a: WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, " +
				"2 more needed, untolerated taint {k  NoSchedule <nil>} in flavor g",
		},
		{"the queue may have been stopped", left + "queue a inactive cohort=x f gpu=0 g gpu=8\n cycle", first + "wait second in a: Suspended: ClusterQueue a is inactive"},
		{
			"somebody else may have taken the quota", left + "admitted i queue=a g/gpu=7\n cycle", first +
				"wait second in a: WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, " +
				"2 more needed, insufficient unused quota for gpu in flavor g, 1 more needed",
		},
	})
}

func TestBlockedWorkloadsReportTheirReason(t *testing.T) {
	runScenarios(t, []scenario{{
		"everybody in an inactive queue",
		`flavor f
		queue a inactive strict f gpu=8
		pending one queue=a gpu=1 at=1
		pending two queue=a gpu=2 at=2
		cycle at=0
		cycle at=1
		queue a strict f gpu=8
		cycle`,
		`wait one in a: Suspended: ClusterQueue a is inactive
		wait two in a: Suspended: ClusterQueue a is inactive
		admit one to a: main 1 gpu=1@f
		admit two to a: main 1 gpu=2@f`,
	}, {
		"everybody in a queue that does not exist, until it does",
		`flavor f
		pending one queue=a gpu=1
		cycle
		pending two queue=a gpu=1 at=1
		cycle
		queue a f gpu=8
		cycle
		delete queue a
		status a`,
		`wait one in a: Misconfigured: ClusterQueue a doesn't exist
		wait two in a: Misconfigured: ClusterQueue a doesn't exist
		admit one to a: main 1 gpu=1@f
		admit two to a: main 1 gpu=1@f
		a: 0 active, 0 inadmissible, 2 reserving, 0 admitted`,
	}, {
		"everybody below a cycle of cohorts, until it is broken",
		`flavor f
		cohort x parent=y
		cohort y parent=x
		queue a cohort=x f gpu=8
		pending one queue=a gpu=1
		cycle
		delete cohort y
		cycle`,
		`wait one in a: Suspended: ClusterQueue a is inactive: the parents of cohort x form a cycle
		admit one to a: main 1 gpu=1@f`,
	}, {
		"a workload that something outside blocks",
		`flavor f
		queue a strict f gpu=8
		pending one queue=a gpu=1 at=1 blocked=Misconfigured aside
		pending two queue=a gpu=1 at=2 blocked=PendingEvaluation
		pending three queue=a gpu=1 at=3
		cycle
		pending two queue=a gpu=1 at=2
		cycle`,
		`wait one in a: Misconfigured: blocked
		wait two in a: PendingEvaluation: blocked
		admit two to a: main 1 gpu=1@f
		admit three to a: main 1 gpu=1@f`,
	}})
}

func TestRequeueTriggers(t *testing.T) {
	const parked = `
		flavor f
		queue a cohort=x f gpu=2
		queue b cohort=x f gpu=2
		queue lone f gpu=2
		admitted h queue=b f/gpu=4
		admitted other queue=lone f/gpu=2
		pending w queue=a gpu=2
		cycle at=0
		cycle at=1
		`
	const first = "wait w in a: " + insufficientQuota + "2 more needed\n"
	const admitted = first + "admit w to a: main 1 gpu=2@f"
	runScenarios(t, []scenario{
		{"quota released in its tree", parked + "release h\n cycle", admitted},
		{"quota shrunk in its tree", parked + "admitted h queue=b f/gpu=2\n cycle", admitted},
		{"a holder that waits again", parked + "pending h queue=b gpu=9\n cycle", admitted + `
			wait h in b: ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (4)`},
		{"more quota for its queue", parked + "queue a cohort=x f gpu=4\n cycle", admitted},
		{"more quota for a queue of its tree", parked + "queue b cohort=x f gpu=4\n cycle", first + "admit w to a: main 1 gpu=2@f"},
		{"a queue that leaves its tree with what it uses", parked + "queue b f gpu=2\n cycle", admitted},
		{"a queue that joins its tree", parked + "queue lone cohort=x f gpu=4\n cycle", first + "admit w to a: main 1 gpu=2@f"},
		{"quota for its cohort", parked + "cohort x f gpu=2\n cycle", first + "admit w to a: main 1 gpu=2@f"},
		{"a parent for its cohort", parked + "cohort top f gpu=2\n cohort x parent=top\n cycle", first + "admit w to a: main 1 gpu=2@f"},
		{"another flavor in its queue", parked + "flavor g\n queue a cohort=x f gpu=2 g gpu=2\n cycle", first + "admit w to a: main 1 gpu=2@g"},
		{"less to ask for", parked + "pending w queue=a gpu=0\n cycle", first + "admit w to a: main 1 gpu=0@f"},
		{"nothing in another tree", parked + "release other\n cycle", first},
		{"not what is known already", parked + "queue a cohort=x f gpu=2\n flavor f\n pending w queue=a gpu=2\n admitted h queue=b f/gpu=4\n cycle", first},
		{"nor quota taken", parked + "admitted more queue=lone f/gpu=1\n admitted h queue=b f/gpu=5\n cycle", first},
	})
	const cousins = `
		flavor f
		cohort top f gpu=2
		cohort x parent=top
		cohort y parent=top
		queue a cohort=x f gpu=0
		queue b cohort=y f gpu=0
		admitted h queue=b f/gpu=2
		pending w queue=a gpu=2
		cycle
		`
	runScenarios(t, []scenario{
		{"a cohort that leaves its tree with what it uses", cousins + "cohort y\n cycle", first + "admit w to a: main 1 gpu=2@f; borrowing 2"},
		{"a cohort that is deleted", cousins + "delete cohort y\n cycle", first + "admit w to a: main 1 gpu=2@f; borrowing 2"},
		{"a queue that is deleted", cousins + "delete queue b\n cycle", first + "admit w to a: main 1 gpu=2@f; borrowing 2"},
	})
	runScenarios(t, []scenario{{
		"a flavor that loses its taint",
		`flavor f taint=k:NoSchedule
		queue a f gpu=2
		pending w queue=a gpu=2
		cycle
		flavor f
		cycle`,
		`wait w in a: NoMatchingFlavor: couldn't assign flavors to pod set main: untolerated taint {k  NoSchedule <nil>} in flavor f
		admit w to a: main 1 gpu=2@f`,
	}, {
		"the end of its backoff, unless it is called off",
		`flavor f
		queue a f gpu=2
		pending w queue=a gpu=2 after=60
		pending v queue=a gpu=2 after=70
		remove v
		pending w queue=a gpu=2
		cycle
		status a`,
		`admit w to a: main 1 gpu=2@f
		a: 0 active, 0 inadmissible, 1 reserving, 0 admitted; f/gpu 2 reserved, 0 used`,
	}, {
		"the end of its backoff",
		`flavor f
		queue a f gpu=2
		pending w queue=a gpu=2 after=60
		pending v queue=a gpu=2 after=90
		cycle at=59
		status a
		cycle at=60
		release w
		cycle at=90`,
		`wake at 60
		a: 0 active, 2 inadmissible, 0 reserving, 0 admitted; f/gpu 0 reserved, 0 used
		admit w to a: main 1 gpu=2@f
		wake at 90
		admit v to a: main 1 gpu=2@f`,
	}})
}

func TestWaitReasonsAreReportedOnce(t *testing.T) {
	runScenarios(t, []scenario{{
		"all of a kind are told together, those that come later when they come",
		`flavor f
		queue a f gpu=2
		admitted h queue=a f/gpu=2
		pending one queue=a gpu=2 at=1
		pending two queue=a gpu=2 at=2
		cycle
		pending three queue=a gpu=2 at=0
		cycle at=0
		cycle at=1
		waiting a`,
		`wait one in a: ` + insufficientQuota + `2 more needed
		wait two in a: ` + insufficientQuota + `2 more needed
		wait three in a: ` + insufficientQuota + `2 more needed
		a waits: three one two`,
	}, {
		"who is looked at again is told again, others of its kind only another reason",
		`flavor f
		queue a f gpu=4
		admitted h queue=a f/gpu=2
		admitted i queue=a f/gpu=2
		pending one queue=a gpu=4 at=1
		pending two queue=a gpu=4 at=2
		cycle
		release i
		cycle                           # 2 are not enough: nobody is looked at
		queue a check=c f gpu=4
		cycle
		queue a f gpu=3
		cycle`,
		`wait one in a: ` + insufficientQuota + `4 more needed
		wait two in a: ` + insufficientQuota + `4 more needed
		wait one in a: ` + insufficientQuota + `2 more needed
		wait one in a: ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)
		wait two in a: ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)`,
	}})
}

func TestAReservationThatCouldNotBeWrittenIsForgotten(t *testing.T) {
	runScenarios(t, []scenario{{
		"the workload waits where it was and others can have the quota",
		`flavor f
		queue a f gpu=2
		pending one queue=a gpu=2 at=1
		pending two queue=a gpu=2 at=2
		cycle
		status a
		forget one
		waiting a
		cycle`,
		`admit one to a: main 1 gpu=2@f
		wait two in a: ` + insufficientQuota + `2 more needed
		a: 0 active, 1 inadmissible, 1 reserving, 0 admitted; f/gpu 2 reserved, 0 used
		a waits: one two
		admit one to a: main 1 gpu=2@f`,
	}, {
		"not once the API has confirmed it",
		`flavor f
		queue a f gpu=2
		pending one queue=a gpu=2
		cycle
		admitted one queue=a f/gpu=2
		forget one
		status a`,
		`admit one to a: main 1 gpu=2@f
		a: 0 active, 0 inadmissible, 1 reserving, 1 admitted; f/gpu 2 reserved, 2 used`,
	}, {
		"nor once the workload is gone",
		`flavor f
		queue a f gpu=2
		pending one queue=a gpu=2
		cycle
		remove one
		forget one
		status a`,
		`admit one to a: main 1 gpu=2@f
		a: 0 active, 0 inadmissible, 0 reserving, 0 admitted; f/gpu 0 reserved, 0 used`,
	}})
}
