package quotafit

import (
	"fmt"
	"strings"

	"switchyard.dev/worker/admission/amount"
)

// Message explains the answer to people, naming each quota and resource in the way with what was asked, is used, is
// promised to workloads that start, and the limit.
func (a Outcome) Message() string {
	switch a.Reason {
	case AlreadyPassed, WithinQuota:
		return "The ResourceQuotas of the namespace have room"
	case NoQuota:
		return "No ResourceQuota restricts the workload"
	case TooLarge, Undeclared, QuotaExceeded, Uncounted:
	}
	var parts []string
	for _, s := range a.Shortages {
		parts = append(parts, s.message())
	}
	return strings.Join(parts, "; ")
}

func (s Shortage) message() string {
	of := fmt.Sprintf("ResourceQuota %q", s.Quota)
	switch s.Reason {
	case Undeclared:
		return fmt.Sprintf("%s restricts %s, which the pods must declare", of, s.Resource)
	case Uncounted:
		return fmt.Sprintf("%s does not say yet how much %s is used", of, s.Resource)
	case TooLarge:
		return fmt.Sprintf("%s can never have room: %s", of, s.amounts())
	default:
		return fmt.Sprintf("%s has no room: %s", of, s.amounts())
	}
}

func (s Shortage) amounts() string {
	text := func(a amount.Amount) string { return amount.Format(BaseName(s.Resource), a) }
	return fmt.Sprintf("%s asked %s, used %s, promised to workloads that start %s, hard %s",
		s.Resource, text(s.Requested), text(s.Used), text(s.Promised), text(s.Hard))
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
