package show

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what is said of one cluster, or of one flavor, about a workload that waits.
type Verdict struct {
	// Of is the cluster or the flavor.
	Of string
	// Says is why it does not run the workload, or that it does.
	Says string
}

// ClusterVerdicts takes the message of a multikueue check apart: what the dispatcher waits for, then, cluster by cluster, why
// it does not run the workload. The message is one text, its parts after "; ", each about a cluster beginning with the
// cluster's name in quotes. Whatever a part goes on with, a semicolon above all, belongs to it as long as no name of the given
// clusters follows.
func ClusterVerdicts(message string, clusters []string) (waits string, verdicts []Verdict) {
	for _, part := range strings.Split(message, "; ") {
		name, says, ok := quoted(part)
		switch {
		case ok && slices.Contains(clusters, name) && !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Of == name }):
			verdicts = append(verdicts, Verdict{Of: name, Says: says})
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

// The scheduler's words about one resource of one flavor.
var (
	unused  = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor ([^\s,]+), (\S+) more needed`)
	exceeds = regexp.MustCompile(`request for (\S+) in flavor (\S+) exceeds the maximum quota: (\S+) requested, at most (\S+) possible`)
)

// FlavorVerdicts takes the message of a workload without quota apart, flavor by flavor in the order in which they were tried.
// What is said of no flavor is left out.
func FlavorVerdicts(message string) []Verdict {
	type found struct {
		at int
		Verdict
	}
	var all []found
	for _, m := range unused.FindAllStringSubmatchIndex(message, -1) {
		part := func(i int) string { return message[m[2*i]:m[2*i+1]] }
		all = append(all, found{m[0], Verdict{part(2), part(3) + " more " + part(1) + " needed than is unused"}})
	}
	for _, m := range exceeds.FindAllStringSubmatchIndex(message, -1) {
		part := func(i int) string { return message[m[2*i]:m[2*i+1]] }
		all = append(all, found{m[0], Verdict{part(2), "can never have it: " + part(3) + " " + part(1) + " requested, at most " + part(4) + " possible"}})
	}
	slices.SortFunc(all, func(a, b found) int { return a.at - b.at })
	var verdicts []Verdict
	for _, f := range all {
		at := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Of == f.Of })
		if at < 0 {
			verdicts = append(verdicts, f.Verdict)
			continue
		}
		verdicts[at].Says += ", " + f.Says
	}
	return verdicts
}
