package features_test

import (
	"strings"
	"testing"

	"switchyard.dev/apis/config/features"
)

func TestThereAreAsManyGatesAsTheContractCounts(t *testing.T) {
	if n := len(features.Names()); n != 80 {
		t.Errorf("%d gates, want 80", n)
	}
}

func TestEveryRequiredGateExists(t *testing.T) {
	for _, name := range features.Names() {
		gate, _ := features.Lookup(name)
		for _, required := range features.Required(name) {
			other, found := features.Lookup(required)
			if !found || gate.Default && !other.Default {
				t.Errorf("%s requires %s, which is unknown or off", name, required)
			}
		}
	}
}

func TestChoices(t *testing.T) {
	for _, c := range []struct {
		name    string
		choices map[string]bool
		on, off []features.Name
		want    string
	}{
		{name: "none", on: []features.Name{features.MultiKueue}, off: []features.Name{features.PriorityBoost, features.UnadmittedWorkloadsExplicitStatus}},
		{name: "one", choices: map[string]bool{"PriorityBoost": true}, on: []features.Name{features.PriorityBoost}},
		{name: "all of a stage", choices: map[string]bool{"AllAlpha": true, "PriorityBoost": false}, on: []features.Name{features.ShortWorkloadNames, features.MultiKueue}, off: []features.Name{features.PriorityBoost}},
		{name: "none of a stage", choices: map[string]bool{"AllBeta": false, "MultiKueue": true}, on: []features.Name{features.MultiKueue, features.TLSOptions}, off: []features.Name{features.TopologyAwareScheduling}},
		{name: "what a gate requires is off", choices: map[string]bool{"TopologyAwareScheduling": false}, off: []features.Name{features.TASFailedNodeReplacement, features.TASFailedNodeReplacementFailFast}},
		{name: "a gate is asked for without what it requires", choices: map[string]bool{"TopologyAwareScheduling": false, "TASProfileMixed": true}, want: "TASProfileMixed requires TopologyAwareScheduling"},
		{name: "an unknown gate", choices: map[string]bool{"Teleport": true}, want: "unrecognized feature gate: Teleport"},
		{name: "a locked gate", choices: map[string]bool{"TLSOptions": false}, want: "TLSOptions to false, feature is locked to true"},
		{name: "a locked gate at its value", choices: map[string]bool{"TLSOptions": true}, on: []features.Name{features.TLSOptions}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := features.New(c.choices)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range c.on {
				if !set.Enabled(name) {
					t.Errorf("%s is off", name)
				}
			}
			for _, name := range c.off {
				if set.Enabled(name) {
					t.Errorf("%s is on", name)
				}
			}
		})
	}
}

func TestTheFlagAndTheFileExcludeEachOther(t *testing.T) {
	if set, err := features.Resolve(nil, "PriorityBoost=true, MultiKueue=false"); err != nil || !set.Enabled(features.PriorityBoost) || set.Enabled(features.MultiKueue) {
		t.Errorf("the flag alone: %v", err)
	}
	for flag, want := range map[string]string{
		"PriorityBoost=true": "not by both", "PriorityBoost": "not by both",
	} {
		if _, err := features.Resolve(map[string]bool{"MultiKueue": true}, flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("both: got %v", err)
		}
	}
	if _, err := features.Resolve(nil, "PriorityBoost"); err == nil || !strings.Contains(err.Error(), "missing bool value for PriorityBoost") {
		t.Errorf("a flag without value: got %v", err)
	}
}
