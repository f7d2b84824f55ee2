package main

import (
	"regexp"
	"strings"
)

var (
	podSetPrefix = regexp.MustCompile(`couldn't assign flavors to pod set ([^\s:]+): `)
	shortage     = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor ([^\s,]+), (\S+) more needed`)
	mismatch     = regexp.MustCompile(`flavor \S+ doesn't match (?:the node selector|node affinity)(, |; |$)`)
)

// briefReason shortens the reasons of the public API to what fits into a table: "workers: needs 8 more nvidia.com/gpu in h100".
// Flavors that the job did not ask for are left out, unless that is all there is to say. What it does not know stays as
// it is.
func briefReason(why string) string {
	why = podSetPrefix.ReplaceAllString(why, "$1: ")
	why = shortage.ReplaceAllString(why, "needs $3 more $1 in $2")
	if strings.Contains(why, "needs ") {
		why = strings.TrimRight(mismatch.ReplaceAllString(why, ""), ",; ")
	}
	return why
}
