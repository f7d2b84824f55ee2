// Package features knows the feature gates of the configuration: their names,
// defaults, stages and dependencies, as data (contract: kueue-api.md 6).
//
// Gates are read at the composition root only: it resolves a Set once and chooses
// which parts to compose; nothing below it asks for a gate by name.
package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"k8s.io/component-base/featuregate"
)

// Set says of every gate whether it is on. The zero Set has the defaults.
type Set struct {
	gates featuregate.FeatureGate
}

// Enabled tells whether a gate is on; an unknown gate is off.
func (s Set) Enabled(name Name) bool {
	if _, known := specs[name]; !known || s.gates == nil {
		return specs[name].Default
	}
	return s.gates.Enabled(name)
}

// Names returns all gates, sorted.
func Names() []Name {
	return slices.Sorted(maps.Keys(specs))
}

// Lookup returns what is known of a gate.
func Lookup(name Name) (featuregate.FeatureSpec, bool) {
	spec, found := specs[name]
	return spec, found
}

// Required returns the gates that must be on where this one is.
func Required(name Name) []Name { return required[name] }

// New resolves choices by name into a Set. It fails for gates that do not exist, that are locked to another value, or that
// are on by name while a gate they require is off. A gate that is on by default or by its stage only (AllAlpha, AllBeta) is
// switched off where what it requires is off.
func New(choices map[string]bool) (Set, error) {
	return resolve(func(gates featuregate.MutableFeatureGate) error { return gates.SetFromMap(choices) })
}

// Resolve is New for the featureGates of a configuration and the value of the
// flag --feature-gates ("A=true,B=false"), of which only one may be given.
func Resolve(configured map[string]bool, flag string) (Set, error) {
	if flag == "" {
		return New(configured)
	}
	if len(configured) > 0 {
		return Set{}, fmt.Errorf("feature gates may be given by the flag or by the configuration, not by both")
	}
	return resolve(func(gates featuregate.MutableFeatureGate) error { return gates.Set(flag) })
}

func resolve(choose func(featuregate.MutableFeatureGate) error) (Set, error) {
	gates := featuregate.NewFeatureGate()
	if err := gates.Add(specs); err != nil {
		return Set{}, fmt.Errorf("adding the feature gates: %w", err)
	}
	if err := choose(gates); err != nil {
		return Set{}, fmt.Errorf("setting the feature gates: %w", err)
	}
	return Set{gates: gates}, disableDependents(gates)
}

// disableDependents switches off what is on without the gates that it requires. It fails if such a gate was switched on by name.
func disableDependents(gates featuregate.MutableVersionedFeatureGate) error {
	var problems *multierror.Error
	for _, name := range Names() {
		missing := disabledOf(gates, required[name])
		if len(missing) == 0 || !gates.Enabled(name) {
			continue
		}
		if gates.ExplicitlySet(name) {
			problems = multierror.Append(problems, fmt.Errorf("feature gate %s requires %s", name, strings.Join(missing, " and ")))
		}
		if err := gates.SetFromMap(map[string]bool{string(name): false}); err != nil {
			problems = multierror.Append(problems, fmt.Errorf("switching off %s: %w", name, err))
		}
	}
	return problems.ErrorOrNil()
}

// disabledOf returns those of the named gates that are off.
func disabledOf(gates featuregate.FeatureGate, names []Name) []string {
	var off []string
	for _, name := range names {
		if !gates.Enabled(name) {
			off = append(off, string(name))
		}
	}
	return off
}
