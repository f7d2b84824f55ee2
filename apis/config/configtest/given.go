// Package configtest makes settings for tests.
package configtest

import (
	"testing"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
)

// Given returns what follows from a configuration file without its heading, with gates turned to the other side of their default.
func Given(t *testing.T, file string, turned ...features.Name) (*configapi.Configuration, features.Set) {
	t.Helper()
	choices := map[string]bool{}
	for _, name := range turned {
		gate, known := features.Lookup(name)
		if !known {
			t.Fatalf("no gate %s", name)
		}
		choices[string(name)] = !gate.Default
	}
	gates, err := features.New(choices)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load([]byte("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + file))
	if err != nil {
		t.Fatal(err)
	}
	cfg.FeatureGates = choices
	return cfg, gates
}
