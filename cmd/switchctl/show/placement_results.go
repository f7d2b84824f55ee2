package show

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PlacementResult is what is said of one cluster about a workload that waits.
type PlacementResult struct {
	// Of is the cluster.
	Of string
	// Says is why it does not run the workload, or that it does.
	Says string
}

// ParseClusterResults takes the message of a multikueue check apart: what the dispatcher waits for, then, cluster by cluster, why
// it does not run the workload. The message is one text, its parts after "; ", each about a cluster beginning with the
// cluster's name in quotes. Whatever a part goes on with, a semicolon above all, belongs to it as long as no name of the given
// clusters follows.
func ParseClusterResults(message string, clusters []string) (waits string, verdicts []PlacementResult) {
	for _, part := range strings.Split(message, "; ") {
		name, says, ok := quoted(part)
		switch {
		case ok && slices.Contains(clusters, name) && !slices.ContainsFunc(verdicts, func(v PlacementResult) bool { return v.Of == name }):
			verdicts = append(verdicts, PlacementResult{Of: name, Says: says})
		case len(verdicts) > 0:
			verdicts[len(verdicts)-1].Says += "; " + part
		case waits == "":
			waits = part
		default:
			waits += "; " + part
		}
	}
	return waits, verdicts
}

// quoted takes a quoted name off the beginning of a text.
func quoted(text string) (name, rest string, ok bool) {
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	if name, err = strconv.Unquote(prefix); err != nil {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(text[len(prefix):], " ")
	return name, rest, ok
}

// FlavorResult is what the scheduler says of one flavor, or of one resource of it.
type FlavorResult struct {
	// Flavor it is about.
	Flavor string
	// Resource it is about; empty for the flavor as a whole.
	Resource string
	// Says is what keeps the workload from it.
	Says string
}

// The scheduler's words about flavors, those of earlier versions included: a worker may be older than this program.
var (
	isUnused        = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor ([^\s,]+), (\S+) more needed`)
	exceedsQuota    = regexp.MustCompile(`request for (\S+) in flavor (\S+) exceeds the maximum quota: (\S+ requested, at most \S+ possible)`)
	exceedsCapacity = regexp.MustCompile(`insufficient quota for (\S+) in flavor ([^\s,]+), previously considered podsets requests \((\S+)\) ` +
		`\+ current podset request \((\S+)\) > maximum capacity \((\S+)\)`)
	isUntouched = regexp.MustCompile(`(untolerated taint (?:\{[^}]*\}|\S+)) in flavor ([^\s,]+)`)
	isUnfit     = regexp.MustCompile(`flavor (\S+) (not found|doesn't (?:exist|match (?:the )?node (?:selector|affinity)))`)
)

// ParseFlavorResults takes the message of a workload without quota apart. What is said of no flavor, or in words that are not
// known, is left out.
func ParseFlavorResults(message string) []FlavorResult {
	var verdicts []FlavorResult
	for _, m := range isUnused.FindAllStringSubmatch(message, -1) {
		verdicts = append(verdicts, FlavorResult{Flavor: m[2], Resource: m[1], Says: m[3] + " more needed than is unused"})
	}
	for _, m := range exceedsQuota.FindAllStringSubmatch(message, -1) {
		verdicts = append(verdicts, FlavorResult{Flavor: m[2], Resource: m[1], Says: "never: " + m[3]})
	}
	for _, m := range exceedsCapacity.FindAllStringSubmatch(message, -1) {
		says := "never: " + m[4] + " requested, at most " + m[5] + " possible"
		if m[3] != "0" {
			says += ", " + m[3] + " of it for other pod sets"
		}
		verdicts = append(verdicts, FlavorResult{Flavor: m[2], Resource: m[1], Says: says})
	}
	for _, m := range isUntouched.FindAllStringSubmatch(message, -1) {
		verdicts = append(verdicts, FlavorResult{Flavor: m[2], Says: m[1]})
	}
	for _, m := range isUnfit.FindAllStringSubmatch(message, -1) {
		verdicts = append(verdicts, FlavorResult{Flavor: m[1], Says: m[2]})
	}
	return verdicts
}

// isAbout is what the verdicts say of a flavor's resource, or for "" of the flavor as a whole.
func isAbout(verdicts []FlavorResult, flavor, resource string) string {
	var says []string
	for _, v := range verdicts {
		if v.Flavor == flavor && v.Resource == resource {
			says = append(says, v.Says)
		}
	}
	return strings.Join(says, ", ")
}
