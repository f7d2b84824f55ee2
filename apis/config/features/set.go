// Package features knows the feature gates of the configuration: their names,
// defaults, stages and dependencies, as data (contract: kueue-api.md 6).
//
// Gates live at the door: a composition root resolves a Set once and chooses
// which parts to compose; nothing below it asks for a gate by name.
package features

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// Names that switch all gates of one stage which are not named themselves.
const (
	AllAlpha = "AllAlpha"
	AllBeta  = "AllBeta"
)

// Set says of every gate whether it is on. The zero Set has the defaults.
type Set struct {
	chosen map[Name]bool
}

// Enabled tells whether a gate is on; an unknown gate is off.
func (s Set) Enabled(name Name) bool {
	if on, chosen := s.chosen[name]; chosen {
		return on
	}
	return known[name].Default
}

// Names returns all gates, sorted.
func Names() []Name {
	return slices.Sorted(maps.Keys(known))
}

// Lookup returns what is known of a gate.
func Lookup(name Name) (Gate, bool) {
	gate, found := known[name]
	return gate, found
}

// New resolves choices by name into a Set. It fails, naming every offender, for
// gates that do not exist, that are locked to another value, or that are on
// while a gate they require is off. A gate that is named wins over AllAlpha and
// AllBeta, whose gates are switched off again where what they require is off.
func New(choices map[string]bool) (Set, error) {
	chosen, problems := explicit(choices)
	set := Set{chosen: chosen}
	for _, name := range Names() {
		gate := known[name]
		if _, named := chosen[name]; named || gate.Locked {
			continue
		}
		if on, grouped := choices[group(gate.Stage)]; grouped {
			chosen[name] = on
		}
	}
	for _, name := range Names() {
		if missing := set.missing(name); len(missing) > 0 {
			if _, named := choices[string(name)]; named {
				problems = multierror.Append(problems, fmt.Errorf("feature gate %s requires %s", name, strings.Join(missing, " and ")))
			}
			chosen[name] = false
		}
	}
	return set, problems.ErrorOrNil()
}

// explicit returns the choices that name a gate which may be given that value.
func explicit(choices map[string]bool) (map[Name]bool, *multierror.Error) {
	var problems *multierror.Error
	chosen := map[Name]bool{}
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		if key == AllAlpha || key == AllBeta {
			continue
		}
		gate, found := known[Name(key)]
		switch {
		case !found:
			problems = multierror.Append(problems, fmt.Errorf("unknown feature gate %s", key))
		case gate.Locked && choices[key] != gate.Default:
			problems = multierror.Append(problems, fmt.Errorf("feature gate %s is locked to %t", key, gate.Default))
		default:
			chosen[Name(key)] = choices[key]
		}
	}
	return chosen, problems
}

func group(stage Stage) string {
	switch stage {
	case Alpha:
		return AllAlpha
	case Beta:
		return AllBeta
	case GA, Deprecated:
	}
	return ""
}

// missing returns the gates that an enabled gate requires and that are off.
func (s Set) missing(name Name) []string {
	var missing []string
	if !s.Enabled(name) {
		return nil
	}
	for _, required := range known[name].Requires {
		if !s.Enabled(required) {
			missing = append(missing, string(required))
		}
	}
	return missing
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
	choices, err := parse(flag)
	if err != nil {
		return Set{}, fmt.Errorf("parsing the feature gates %q: %w", flag, err)
	}
	return New(choices)
}

func parse(flag string) (map[string]bool, error) {
	choices := map[string]bool{}
	for _, pair := range strings.Split(flag, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%q is not of the form Name=true or Name=false", pair)
		}
		choices[strings.TrimSpace(name)] = on
	}
	return choices, nil
}
