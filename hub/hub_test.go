package hub

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker/manager"
)

func partNames(t *testing.T, compose func(manager.Settings) ([]manager.Part, error), gates map[string]bool) []string {
	t.Helper()
	cfg, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := features.New(gates)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := compose(manager.Settings{Configuration: cfg, Gates: set})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, part := range parts {
		list = append(list, part.Name)
	}
	return list
}

func TestAHubIsAWorkerWithOneMoreGate(t *testing.T) {
	engine := partNames(t, admissioncheck.Parts, nil)
	want := slices.DeleteFunc(slices.Clone(engine), func(name string) bool { return name == "capacity" }) // nobody asks a hub
	if diff := cmp.Diff(append(want, "multikueue"), partNames(t, Parts, nil)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(engine, partNames(t, Parts, map[string]bool{"MultiKueue": false})); diff != "" {
		t.Errorf("without the feature: -want +got:\n%s", diff)
	}
}

func TestAKindThatIsNotCompiledInIsNamed(t *testing.T) {
	cfg, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Integrations.Frameworks = []string{"batch/job", "pod"}
	if _, err := Parts(manager.Settings{Configuration: cfg}); err == nil {
		t.Error("composed with a kind that nobody has")
	}
}
