package assign_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/quota"
)

// assignScript plays the script, assigns flavors to the workload w of queue a and writes what comes out.
func assignScript(t *testing.T, script string, opts assign.Options) string {
	t.Helper()
	s, err := admissiontest.BuildSnapshot(script)
	if err != nil {
		t.Fatal(err)
	}
	w, found := s.Pending(admissiontest.Key("w"))
	if !found {
		t.Fatal("the script has no workload w")
	}
	return formatDetails(assign.Assign(s.FlavorTable("a"), &w, opts), w)
}

func formatDetails(r assign.Result, w admission.Workload) string {
	if r.Mode == assign.NoFit {
		return fmt.Sprintf("%s: %s", r.Reason, r.Message)
	}
	out := admissiontest.DecisionText(admission.Decision{
		Workload: w.Key, Queue: w.Queue, Outcome: admission.Admit, Assignment: r.Assignment,
	})
	out = strings.TrimPrefix(out, "admit w to a: ")
	if r.Mode != assign.Fit {
		out = fmt.Sprintf("mode %d: %s: %s", r.Mode, out, r.Message)
	}
	return out
}

const twoFlavors = "flavor f label=kind:f\n flavor g label=kind:g taint=spot:NoSchedule\n"

func TestWhichFlavorAWorkloadGets(t *testing.T) {
	const f, untainted = "flavor f label=kind:f\n", "flavor f label=kind:f\n flavor g label=kind:g\n"
	for _, c := range []struct{ name, script, want string }{
		{
			"the first flavor with room is taken",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4",
			"main 1 gpu=4@f",
		}, {
			"a full flavor is passed over",
			untainted + "queue a f gpu=8 g gpu=8\n admitted x queue=a f/gpu=6\n pending w queue=a gpu=4",
			"main 1 gpu=4@g",
		}, {
			"all resources of a group get the same flavor",
			untainted + "queue a f gpu=8 cpu=1 g gpu=8 cpu=9\n pending w queue=a gpu=4 cpu=2",
			"main 1 cpu=2@g gpu=4@g",
		}, {
			"groups choose on their own",
			untainted + "flavor c\n queue a f gpu=1 g gpu=8 | c cpu=9\n pending w queue=a gpu=4 cpu=2500m",
			"main 1 cpu=2500m@c gpu=4@g",
		}, {
			"requests count once for every pod",
			f + "queue a f gpu=8\n pending w queue=a gpu=2 count=4",
			"main 4 gpu=8@f",
		}, {
			"borrowing stops the search by default",
			untainted + "queue a cohort=x f gpu=2 g gpu=8\n queue b cohort=x f gpu=6\n pending w queue=a gpu=4",
			"main 1 gpu=4@f; borrowing 1",
		}, {
			"a queue that would rather not borrow looks on",
			untainted + "queue a borrow-next cohort=x f gpu=2 g gpu=8\n queue b cohort=x f gpu=6\n pending w queue=a gpu=4",
			"main 1 gpu=4@g",
		}, {
			"when every flavor must borrow the nearest lender wins",
			untainted + "cohort x parent=top g gpu=8\n cohort top f gpu=8\n queue a borrow-next cohort=x f gpu=2 g gpu=2\n pending w queue=a gpu=4",
			"main 1 gpu=4@g; borrowing 1",
		}, {
			"pods are requested where the queue counts them",
			f + "queue a f gpu=8 pods=5\n pending w queue=a gpu=1 count=3",
			"main 3 gpu=3@f pods=3@f",
		}, {
			"a workload that asks for nothing gets nothing",
			f + "queue a f gpu=8\n pending w queue=a",
			"main 1",
		}, {
			"a request for none of a resource still gets a flavor",
			f + "queue a f gpu=0\n admitted x queue=a f/gpu=5\n pending w queue=a gpu=0",
			"main 1 gpu=0@f",
		}, {
			"none of a resource that the queue does not have is fine",
			f + "queue a f gpu=8\n pending w queue=a gpu=1 tpu=0",
			"main 1 gpu=1@f",
		}, {
			"later pod sets find what the earlier ones left",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=6 + workers gpu=4 + tail gpu=2",
			"main 1 gpu=6@f, workers 1 gpu=4@g, tail 1 gpu=2@f",
		}, {
			"pod sets of a group get the same flavor",
			untainted + "queue a f gpu=8 g gpu=12\n pending w queue=a gpu=6 group=x + alone gpu=1 + workers gpu=4 group=x",
			"main 1 gpu=6@g, alone 1 gpu=1@f, workers 1 gpu=4@g",
		}, {
			"the node selector picks the flavor",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4 select=kind:g",
			"main 1 gpu=4@g",
		}, {
			"a node selector on a label that no flavor has says nothing",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4 select=zone:eu",
			"main 1 gpu=4@f",
		}, {
			"labels of another group's flavors do not count",
			untainted + "queue a f gpu=8 | g cpu=8\n flavor g label=zone:eu\n pending w queue=a gpu=4 select=zone:us",
			"main 1 gpu=4@f",
		}, {
			"one affinity term that holds is enough",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4 affinity=kind:In:z affinity=kind:In:g,y",
			"main 1 gpu=4@g",
		}, {
			"all requirements of a term must hold",
			"flavor f label=kind:f label=gen:1\n flavor g label=kind:g label=gen:3\n queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4 affinity=kind&gen:Gt:2",
			"main 1 gpu=4@g",
		}, {
			"an affinity term on other labels says nothing",
			untainted + "queue a f gpu=8 g gpu=8\n pending w queue=a gpu=4 affinity=zone:In:eu affinity=kind:In:g",
			"main 1 gpu=4@f",
		}, {
			"a tolerated taint is no obstacle",
			twoFlavors + "queue a g gpu=8\n pending w queue=a gpu=4 tolerate=spot",
			"main 1 gpu=4@g",
		}, {
			"nor is one that the flavor itself tolerates",
			"flavor g taint=spot:yes:NoExecute tolerate=spot:yes:NoExecute\n queue a g gpu=8\n pending w queue=a gpu=4",
			"main 1 gpu=4@g",
		}, {
			"nor one that only prefers",
			"flavor g taint=spot:PreferNoSchedule\n queue a g gpu=8\n pending w queue=a gpu=4",
			"main 1 gpu=4@g",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, assignScript(t, c.script, assign.Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyAWorkloadGetsNoFlavor(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{
			"not enough is unused",
			"queue a f gpu=8\n admitted x queue=a f/gpu=6\n pending w queue=a gpu=6",
			"WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, 4 more needed",
		}, {
			"there could never be enough",
			"queue a f cpu=8\n pending w queue=a cpu=8500m",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (8500m) > maximum capacity (8)",
		}, {
			"a borrowing limit is an upper bound too",
			"queue a cohort=x f gpu=2 borrow=1\n queue b cohort=x f gpu=8\n pending w queue=a gpu=4",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)",
		}, {
			"the queue does not have the resource",
			"queue a f gpu=8\n pending w queue=a tpu=1",
			"NoMatchingFlavor: couldn't assign flavors to pod set main: resource tpu unavailable in ClusterQueue",
		}, {
			"the flavor is missing",
			"queue a e gpu=8\n pending w queue=a gpu=1",
			"NoMatchingFlavor: couldn't assign flavors to pod set main: flavor e not found",
		}, {
			"the taint is not tolerated",
			"queue a g gpu=8\n pending w queue=a gpu=1 tolerate=spot::NoExecute tolerate=other",
			"NoMatchingFlavor: couldn't assign flavors to pod set main: untolerated taint {spot  NoSchedule <nil>} in flavor g",
		}, {
			"no flavor has the label",
			"queue a f gpu=8\n pending w queue=a gpu=1 select=kind:h",
			"NoMatchingFlavor: couldn't assign flavors to pod set main: flavor f doesn't match node affinity",
		}, {
			"no affinity term holds",
			"queue a f gpu=8\n pending w queue=a gpu=1 affinity=kind:NotIn:f affinity=kind:DoesNotExist affinity=kind:Lt:4",
			"NoMatchingFlavor: couldn't assign flavors to pod set main: flavor f doesn't match node affinity",
		}, {
			"among flavors the most hopeful reason counts",
			"queue a g gpu=8 f gpu=8\n admitted x queue=a f/gpu=8\n pending w queue=a gpu=1",
			"WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, 1 more needed, untolerated taint {spot  NoSchedule <nil>} in flavor g",
		}, {
			"among resources of a flavor and among groups the least hopeful one counts",
			"flavor c\n queue a f gpu=8 | c cpu=1\n admitted x queue=a f/gpu=8\n pending w queue=a gpu=1 cpu=2",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor c, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)",
		}, {
			"the first pod set that fails is the last that is judged",
			"queue a f gpu=8\n pending w queue=a gpu=9 + workers tpu=1 + fine gpu=1",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (8)",
		}, {
			"pod sets count together against the quota",
			"queue a f gpu=8\n pending w queue=a gpu=5 + workers gpu=5",
			"ExceedsMaxQuota: couldn't assign flavors to pod set workers: insufficient quota for gpu in flavor f, previously considered podsets requests (5) + current podset request (5) > maximum capacity (8)",
		}, {
			"pod sets of a group fail together",
			"queue a f gpu=8\n pending w queue=a gpu=5 group=x + workers gpu=5 group=x",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (10) > maximum capacity (8); " +
				"couldn't assign flavors to pod set workers: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (10) > maximum capacity (8)",
		}, {
			"more pods than the queue counts",
			"queue a f pods=3\n pending w queue=a count=4",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for pods in flavor f, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)",
		}, {
			"absurd requests saturate",
			"queue a f gpu=8\n pending w queue=a gpu=9000000000000000000 count=2000000000",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset request (<unlimited>) > maximum capacity (8)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, assignScript(t, twoFlavors+c.script, assign.Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUndeclaredResourcesCanBeIgnored(t *testing.T) {
	got := assignScript(t, twoFlavors+"queue a f gpu=8\n pending w queue=a gpu=1 tpu=4", assign.Options{IgnoreUndeclared: true})
	if diff := cmp.Diff("main 1 gpu=1@f", got); diff != "" {
		t.Error(diff)
	}
}

// TestPreemptionOracle uses an oracle that says Reclaim for flavor f, Preempt for g and NoCandidates for h.
func TestPreemptionOracle(t *testing.T) {
	const full = "flavor f\n flavor g\n flavor h\n admitted x queue=a f/gpu=8 g/gpu=8 h/gpu=8\n"
	lacks := ": couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor "
	also := func(flavor string) string {
		return ", insufficient unused quota for gpu in flavor " + flavor + ", 1 more needed"
	}
	for _, c := range []struct{ name, script, want string }{
		{
			"the better mode wins",
			"queue a h gpu=8 g gpu=8 f gpu=8\n pending w queue=a gpu=1",
			"mode 3: main 1 gpu=1@f" + lacks + "f, 1 more needed" + also("g") + also("h"),
		}, {
			"a queue that may stop at preemption does",
			"queue a preempt-stop h gpu=8 g gpu=8 f gpu=8\n pending w queue=a gpu=1",
			"mode 2: main 1 gpu=1@g" + lacks + "g, 1 more needed" + also("h"),
		}, {
			"what waits and what comes too late are told of together",
			"flavor c\n queue a h gpu=8 | c cpu=1\n pending w queue=a gpu=1 + workers gpu=1 cpu=2",
			"ExceedsMaxQuota" + lacks + "h, 1 more needed; couldn't assign flavors to pod set workers: " +
				"insufficient quota for cpu in flavor c, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)",
		}, {
			"no candidates is better than nothing",
			"queue a h gpu=8\n pending w queue=a gpu=1",
			"mode 1: main 1 gpu=1@h" + lacks + "h, 1 more needed",
		}, {
			"preemption cannot help what exceeds all quota",
			"queue a h gpu=8 g gpu=8 f gpu=8\n pending w queue=a gpu=10",
			"ExceedsMaxQuota: couldn't assign flavors to pod set main: " + exceedsMaxMessages("f", "g", "h"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := admissiontest.BuildSnapshot(full + c.script)
			if err != nil {
				t.Fatal(err)
			}
			w, _ := s.Pending(admissiontest.Key("w"))
			modes := map[*quota.Cell]assign.Mode{}
			for _, flavor := range s.FlavorTable("a").Groups[0].Flavors {
				modes[flavor.Cells[0]] = map[string]assign.Mode{
					"f": assign.Reclaim, "g": assign.Preempt, "h": assign.NoCandidates,
				}[flavor.Name]
			}
			oracle := func(cell *quota.Cell, _ amount.Amount) (assign.Mode, int) { return modes[cell], 0 }
			got := formatDetails(assign.Assign(s.FlavorTable("a"), &w, assign.Options{PreemptionOracle: oracle}), w)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func exceedsMaxMessages(flavors ...string) string {
	parts := make([]string, len(flavors))
	for i, f := range flavors {
		parts[i] = "insufficient quota for gpu in flavor " + f + ", previously considered podsets requests (0) + current podset request (10) > maximum capacity (8)"
	}
	return strings.Join(parts, ", ")
}

func BenchmarkAssign(b *testing.B) {
	for _, c := range []struct{ name, script string }{
		{"the first flavor fits", "pending w queue=a gpu=4 cpu=8"},
		{"the second flavor fits", "admitted x queue=a f/gpu=8\n pending w queue=a gpu=4 cpu=8"},
		{"nothing fits", "admitted x queue=a f/gpu=8 g/gpu=8\n pending w queue=a gpu=4 cpu=8"},
		{"three pod sets", "pending w queue=a gpu=1 cpu=8 + workers count=4 gpu=1 cpu=1 + tail cpu=1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := admissiontest.BuildSnapshot("flavor f label=kind:f\n flavor g label=kind:g\n" +
				"queue a cohort=x f gpu=8 cpu=64 g gpu=8 cpu=64\n" + c.script)
			if err != nil {
				b.Fatal(err)
			}
			w, _ := s.Pending(admissiontest.Key("w"))
			menu := s.FlavorTable("a")
			for b.Loop() {
				assign.Assign(menu, &w, assign.Options{})
			}
		})
	}
}
