package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
	"switchyard.dev/worker/admission/quota"
)

func buildSnapshot(t *testing.T, script string) *admission.Snapshot {
	t.Helper()
	s, err := admissiontest.BuildSnapshot(script)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAdmissionChecksFor(t *testing.T) {
	s := buildSnapshot(t, "queue a check=z check=mk@h100,a100 check=other@l4 check=every h100 gpu=8 l4 gpu=8")
	q, _ := s.ClusterQueue("a")
	on := func(flavors ...string) admission.Assignment {
		var uses []quota.Use
		for _, flavor := range flavors {
			uses = append(uses, quota.Use{FlavorResource: admission.FlavorResource{Flavor: flavor, Resource: "gpu"}})
		}
		return admission.Assignment{Usage: quota.NewUsage(uses...)}
	}
	for _, c := range []struct {
		name string
		got  admission.Assignment
		want []string
	}{
		{"those without flavors and those of the flavor", on("h100"), []string{"every", "mk", "z"}},
		{"any of several flavors is enough", on("cpus", "l4", "a100"), []string{"every", "mk", "other", "z"}},
		{"without flavors only those without", on(), []string{"every", "z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, q.AdmissionChecksFor(c.got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLocalQueueStatus(t *testing.T) {
	s := buildSnapshot(t, `
		queue a cohort=x f gpu=4 g gpu=2
		queue b cohort=x f gpu=4
		pending w1 lq=mine queue=a gpu=1
		pending w2 lq=mine queue=a gpu=1 after=60
		pending w3 lq=other queue=a gpu=1
		admitted h1 lq=mine queue=a f/gpu=5
		reserving h2 lq=mine queue=a f/gpu=1
		admitted h3 lq=other queue=a f/gpu=1`)
	row := func(flavor string, total, borrowed amount.Amount) admission.FlavorStatus {
		return admission.FlavorStatus{
			FlavorResource: admission.FlavorResource{Flavor: flavor, Resource: "gpu"}, Total: total, Borrowed: borrowed,
		}
	}
	want := admission.LocalQueueStatus{
		Pending: 2, Reserving: 2, Admitted: 1,
		Reserved: []admission.FlavorStatus{row("f", 6, 0), row("g", 0, 0)},
		Used:     []admission.FlavorStatus{row("f", 5, 0), row("g", 0, 0)},
	}
	if diff := cmp.Diff(want, s.LocalQueueStatus(admissiontest.Key("mine"), "a")); diff != "" {
		t.Error(diff)
	}
	whole := admission.QueueStatus{
		Active: 2, Inadmissible: 1, Reserving: 3, Admitted: 2,
		Reserved: []admission.FlavorStatus{row("f", 7, 3), row("g", 0, 0)},
		Used:     []admission.FlavorStatus{row("f", 6, 2), row("g", 0, 0)},
	}
	if diff := cmp.Diff(whole, s.QueueStatus("a")); diff != "" {
		t.Error(diff)
	}
}

func TestAWorkloadIsInOneStateAtATime(t *testing.T) {
	s := buildSnapshot(t, "flavor f\n queue a f gpu=4\n pending w queue=a gpu=1")
	state := func() string {
		_, waits := s.Pending(admissiontest.Key("w"))
		_, holds := s.Reservation(admissiontest.Key("w"))
		switch {
		case waits && holds:
			return "both"
		case waits:
			return "waits"
		case holds:
			return "holds"
		}
		return "gone"
	}
	for _, c := range []struct{ line, want string }{
		{"admitted w queue=a f/gpu=1", "holds"},
		{"reserving w queue=b f/gpu=2", "holds"},
		{"pending w queue=a gpu=2", "waits"},
		{"release w", "waits"},
		{"forget w", "waits"},
		{"pending w queue=b gpu=2 after=9", "waits"},
		{"cycle", "waits"},
		{"pending w queue=a gpu=2", "waits"},
		{"cycle", "holds"},
		{"forget w", "waits"},
		{"remove w", "gone"},
		{"remove w", "gone"},
	} {
		steps, err := admissiontest.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		steps[0].Apply(cycle.NewScheduler(s))
		if got := state(); got != c.want {
			t.Errorf("after %q it is %s, want %s", c.line, got, c.want)
		}
	}
	if diff := cmp.Diff(admission.QueueStatus{}, s.QueueStatus("b")); diff != "" {
		t.Error(diff)
	}
}

func TestAssumedReservation(t *testing.T) {
	s := buildSnapshot(t, "flavor f\n queue a f gpu=4\n pending w lq=mine queue=a gpu=1\n cycle")
	got, _ := s.Reservation(admissiontest.Key("w"))
	want := admission.Reservation{
		Key: admissiontest.Key("w"), LocalQueue: "mine", Queue: "a", Assumed: true,
		UID: "w", QueuedAt: admissiontest.TimeAt(0), ReservedAt: admissiontest.TimeAt(0),
		Usage: admission.Usage{{FlavorResource: admission.FlavorResource{Flavor: "f", Resource: "gpu"}, Amount: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.Admit(got)
	if got, _ = s.Reservation(admissiontest.Key("w")); got.Assumed {
		t.Error("what was confirmed is not assumed any more")
	}
}

func TestAFlavorWithoutAQuotaForACoveredResourceHasNone(t *testing.T) {
	got, err := admissiontest.RunScript(`
		flavor f
		flavor g
		queue a cohort=x f gpu=4 cpu=2 g cpu=4
		queue b cohort=x f gpu=4 cpu=2 g gpu=4 cpu=4
		admitted h queue=a f/gpu=8
		pending w queue=a gpu=1 cpu=1
		cycle`)
	if err != nil {
		t.Fatal(err)
	}
	want := "wait w in a: WaitingForQuota: couldn't assign flavors to pod set main: insufficient quota for gpu in flavor g, " +
		"previously considered podsets requests (0) + current podset request (1) > maximum capacity (0), insufficient unused quota for gpu in flavor f, 1 more needed\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
