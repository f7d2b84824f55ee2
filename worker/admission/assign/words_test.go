package assign_test

import (
	"testing"

	"switchyard.dev/apis/kueue/contracttest"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
	"switchyard.dev/worker/admission/quota"
)

// consideredFlavor is what is said of the flavors that were considered for w, which its queue a can admit.
func consideredFlavor(t *testing.T, script string, opts assign.Options) string {
	t.Helper()
	s, err := admissiontest.BuildSnapshot(script)
	if err != nil {
		t.Fatal(err)
	}
	w, found := s.Pending(admissiontest.Key("w"))
	if !found {
		t.Fatal("the script has no workload w")
	}
	r := assign.Assign(s.FlavorTable("a"), &w, opts)
	if r.Mode != assign.Fit {
		t.Fatalf("%s: %s", r.Reason, r.Message)
	}
	return r.Assignment.Considered
}

func TestConsideredFlavorsText(t *testing.T) {
	const flavors = "flavor z label=kind:z\n flavor f label=kind:f\n flavor g label=kind:g taint=spot:NoSchedule\n"
	got := map[string]contracttest.Said{}
	for name, script := range map[string]string{
		"the first one fits":     flavors + "queue a f gpu=8\n pending w queue=a gpu=4",
		"borrows":                flavors + "queue a cohort=x f gpu=2\n queue b cohort=x f gpu=8\n pending w queue=a gpu=4",
		"no match and too small": flavors + "queue a g gpu=8 f gpu=2 z gpu=8\n pending w queue=a gpu=4",
		"no room":                flavors + "queue a z gpu=8 f gpu=8\n admitted x queue=a z/gpu=6\n pending w queue=a gpu=4",
		"two groups":             flavors + "queue a g gpu=8 z gpu=8 | f cpu=9\n pending w queue=a gpu=4 cpu=2",
		"two pod sets":           flavors + "queue a g gpu=8 z gpu=8 f gpu=8\n pending w queue=a gpu=6 + workers gpu=4",
	} {
		got[name] = contracttest.Said{Text: consideredFlavor(t, script, assign.Options{
			PreemptionOracle: func(*quota.Cell, amount.Amount) (assign.Mode, int) { return assign.Reclaim, 1 },
		})}
	}
	const full = flavors + "queue a z gpu=8 f gpu=8\n admitted x queue=a z/gpu=6\n pending w queue=a gpu=4"
	got["no room, nobody is preempted"] = contracttest.Said{Text: consideredFlavor(t, full, assign.Options{})}
	contracttest.Compare(t, "flavors considered", got)
}
