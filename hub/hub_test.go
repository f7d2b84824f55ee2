package hub

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/worker"
	"switchyard.dev/worker/manager"
)

func composed(
	t *testing.T, compose func(manager.Settings) (*worker.Composition, error), gates map[string]bool,
) *worker.Composition {
	t.Helper()
	cfg, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := features.New(gates)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compose(manager.Settings{Configuration: cfg, Gates: set})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func partNames(t *testing.T, c *worker.Composition) []string {
	t.Helper()
	parts, _, err := c.Build()
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
	engine := partNames(t, composed(t, admissioncheck.Compose, nil))
	want := slices.DeleteFunc(slices.Clone(engine), func(name string) bool { return name == "capacity" }) // nobody asks a hub
	want = slices.Insert(want, slices.Index(want, "apiserver"), "multikueue")
	if diff := cmp.Diff(want, partNames(t, composed(t, Compose, nil))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(engine, partNames(t, composed(t, Compose, map[string]bool{"MultiKueue": false}))); diff != "" {
		t.Errorf("without the feature: -want +got:\n%s", diff)
	}
}

func TestLogTailsArePartOfAHubThatIsAskedForThem(t *testing.T) {
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue: {access: {enable: false, logTails: {}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for gate, want := range map[bool]bool{true: true, false: false} {
		set, err := features.New(map[string]bool{"MultiKueue": gate})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compose(manager.Settings{Configuration: cfg, Gates: set})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(partNames(t, c), "logtail"); got != want {
			t.Errorf("with the gate %t: %t", gate, got)
		}
	}
}

// A hub whose dispatcher is off would wait for ever for a word that does not come.
func TestOnlyAHubWithItsDispatcherOnWaitsForIt(t *testing.T) {
	if !composed(t, Compose, nil).DispatchesJobs {
		t.Error("a hub does not wait for its dispatcher")
	}
	if composed(t, Compose, map[string]bool{"MultiKueue": false}).DispatchesJobs {
		t.Error("a hub waits for a dispatcher that is off")
	}
	if composed(t, admissioncheck.Compose, nil).DispatchesJobs {
		t.Error("a worker waits for a dispatcher")
	}
}

func TestAHubDispatchesWhatWaitsPodByPodOnlyIfItsConfigurationNamesIt(t *testing.T) {
	for name, c := range map[string]struct {
		frameworks []string
		want       []string
	}{
		"pods":                   {[]string{"batch/job", "pod"}, []string{"Pod"}},
		"pods that are implied":  {[]string{"batch/job", "deployment"}, nil},
		"StatefulSets, not pods": {[]string{"statefulset", "batch/job"}, []string{"StatefulSet"}},
		"all, in whatever order": {
			[]string{"leaderworkerset.x-k8s.io/leaderworkerset", "statefulset", "batch/job", "pod"}, []string{"Pod", "StatefulSet", "LeaderWorkerSet"},
		},
	} {
		cfg, err := config.Load(nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Integrations.Frameworks = c.frameworks
		composition, err := Compose(manager.Settings{Configuration: cfg})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, kind := range dispatchedKinds(composition)[len(composition.Kinds):] {
			got = append(got, kind.GVK().Kind)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAKindThatIsNotCompiledInIsNamed(t *testing.T) {
	cfg, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Integrations.Frameworks = []string{"batch/job", "unheard-of"}
	if _, err := Compose(manager.Settings{Configuration: cfg}); err == nil {
		t.Error("composed with a kind that nobody has")
	}
}
