package multikueue

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/job/all"
)

func TestTheKindsThatAreDispatchedAreThoseCompiledInAndThoseOfTheConfiguration(t *testing.T) {
	var builtIn []string
	for _, kind := range all.Kinds() {
		if kind.Mirrorable() {
			builtIn = append(builtIn, kind.Name())
		}
	}
	for _, c := range []struct {
		name  string
		named []string
		gates map[string]bool
		want  []string
	}{
		{name: "none named", want: builtIn},
		{
			name: "two named", named: []string{"Simulation.v1.example.com", "Rendering.v1.example.com"},
			want: append(slices.Clone(builtIn), "Simulation.v1.example.com", "Rendering.v1.example.com"),
		},
		{name: "another version of one named", named: []string{"Simulation.v1.example.com", "Simulation.v2.example.com"}, want: append(slices.Clone(builtIn), "Simulation.v1.example.com")},
		{name: "another version of one compiled in", named: []string{"Job.v2.batch"}, want: builtIn},
		{name: "the gate is off", named: []string{"Simulation.v1.example.com"}, gates: map[string]bool{"MultiKueueAdaptersForCustomJobs": false}, want: builtIn},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configapi.Default()
			for _, name := range c.named {
				cfg.MultiKueue.ExternalFrameworks = append(cfg.MultiKueue.ExternalFrameworks, configapi.MultiKueueExternalFramework{Name: name})
			}
			gates, err := features.New(c.gates)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, kind := range mirroredKinds(cfg.MultiKueue, gates, all.Kinds()) {
				got = append(got, kind.Name())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
