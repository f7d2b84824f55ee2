package assign_test

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/admissiontest"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/assign"
)

// FuzzAnAssignmentIsWhatWasAskedForAndThereIs assigns every workload of a random script.
func FuzzAnAssignmentIsWhatWasAskedForAndThereIs(f *testing.F) {
	for seed := range int64(200) {
		data := make([]byte, 200)
		rand.New(rand.NewSource(seed)).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		script := admissiontest.GenerateScript(data)
		steps, err := admissiontest.Parse(script)
		if err != nil {
			t.Fatal(err)
		}
		facts := admissiontest.NewFacts()
		for _, step := range steps {
			facts.Apply(step)
		}
		s := facts.Snapshot()
		for _, name := range slices.Sorted(maps.Keys(facts.Pending)) {
			if w := facts.Pending[name]; s.FlavorTable(w.Queue) != nil {
				checkAssignment(t, s, w, script)
			}
		}
	})
}

func checkAssignment(t *testing.T, s *admission.Snapshot, w admission.Workload, script string) {
	t.Helper()
	menu := s.FlavorTable(w.Queue)
	got := assign.Assign(menu, &w, assign.Options{})
	accounts := cmpopts.IgnoreFields(admission.Shortfall{}, "Cell")
	if diff := cmp.Diff(got, assign.Assign(menu, &w, assign.Options{}), accounts); diff != "" {
		t.Fatalf("%s is assigned differently the second time\n%s\n%s", w.Name, diff, script)
	}
	if got.Mode == assign.NoFit {
		if got.Assignment != nil || got.Reason == "" || got.Message == "" {
			t.Fatalf("%s fails without saying why, or with an assignment: %v", w.Name, got)
		}
		return
	}
	height, fits := s.Fit(w.Queue, got.Assignment.Usage)
	if !fits || height != got.Assignment.Borrowing {
		t.Fatalf("%s is assigned what is not there, or borrows at height %d: %v\n%s", w.Name, height, got.Assignment, script)
	}
	for i, podSet := range w.PodSets {
		given := got.Assignment.PodSets[i]
		// None of a resource that the queue does not have is as good as not asked for.
		want := slices.DeleteFunc(podSet.Requests.Times(int64(podSet.Count)), func(r amount.Request) bool {
			_, covered := menu.FindResource(r.Resource)
			return !covered && r.Amount == 0
		})
		if diff := cmp.Diff(want, given.Usage); given.Name != podSet.Name || given.Count != podSet.Count || diff != "" {
			t.Fatalf("%s does not get what it asks for: %v\n%s", w.Name, diff, script)
		}
		for j, flavor := range given.Flavors {
			if column, covered := menu.FindResource(flavor.Resource); !covered || flavor.Resource != given.Usage[j].Resource ||
				!slices.ContainsFunc(menu.Groups[column.Group].Flavors, func(f admission.FlavorTableEntry) bool { return f.Name == flavor.Flavor }) {
				t.Fatalf("%s gets %s from %s, which has none\n%s", w.Name, flavor.Resource, flavor.Flavor, script)
			}
		}
	}
}

func TestWhatAnAssignmentTakesIsSortedByResource(t *testing.T) {
	s, err := admissiontest.BuildSnapshot("flavor f\n queue a f tpu=8 pods=8 cpu=8\n pending w queue=a tpu=1 cpu=1")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := s.Pending(admissiontest.Key("w"))
	got := assign.Assign(s.FlavorTable("a"), &w, assign.Options{}).Assignment.PodSets[0].Usage
	want := amount.Vector{{Resource: "cpu", Amount: 1000}, {Resource: "pods", Amount: 1}, {Resource: "tpu", Amount: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
