package room

import (
	"fmt"
	"strings"

	"switchyard.dev/worker/admission/amount"
)

// Message explains the answer to people, naming each quota and resource in the way with what was asked, is used, is
// promised to workloads that start, and the limit.
func (a Answer) Message() string {
	switch a.Because {
	case Passed, HasRoom:
		return "The ResourceQuotas of the namespace have room"
	case NoQuota:
		return "No ResourceQuota restricts the workload"
	case TooLarge, Undeclared, NoRoom, Uncounted:
	}
	var parts []string
	for _, s := range a.Shortages {
		parts = append(parts, s.text())
	}
	return strings.Join(parts, "; ")
}

func (s Shortage) text() string {
	of := fmt.Sprintf("ResourceQuota %q", s.Quota)
	switch s.Because {
	case Undeclared:
		return fmt.Sprintf("%s restricts %s, which the pods must declare", of, s.Resource)
	case Uncounted:
		return fmt.Sprintf("%s does not say yet how much %s is used", of, s.Resource)
	case TooLarge:
		return fmt.Sprintf("%s can never have room: %s", of, s.figures())
	default:
		return fmt.Sprintf("%s has no room: %s", of, s.figures())
	}
}

func (s Shortage) figures() string {
	text := func(a amount.Amount) string { return amount.Text(BaseName(s.Resource), a) }
	return fmt.Sprintf("%s asked %s, used %s, promised to workloads that start %s, hard %s",
		s.Resource, text(s.Asked), text(s.Used), text(s.Promised), text(s.Hard))
}

// BaseName is the resource that a quota's resource counts: "cpu" for "requests.cpu" and "limits.cpu".
func BaseName(resource string) string {
	for _, prefix := range []string{"requests.", "limits."} {
		if rest, ok := strings.CutPrefix(resource, prefix); ok {
			return rest
		}
	}
	return resource
}
