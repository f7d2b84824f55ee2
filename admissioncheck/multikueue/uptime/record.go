package uptime

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// uptime is until when a hub's program has run, as the hub itself has it on record, and when it had not before. It tells what
// a hub that was restored from a backup cannot know: of a copy made while the program ran, by the hub's record, the Workload
// was stored there too, so that one which is not there any more was deleted. A copy made while it did not run, by that record, was
// made in a time that the restore has undone, or by a program in the last moments before it died.
type uptime struct {
	until     time.Time
	downtimes []downtime // by time
}

// downtime is a time of which the hub has no record; a zero from is the beginning of time.
type downtime struct{ from, to time.Time }

const (
	// uptimeSlack is how much the clocks of hub and worker may differ here, and how long a program may have lived on after its last
	// record: what was made so close to a downtime counts as made in it.
	uptimeSlack = time.Minute
	// maxDowntimes is how many are kept apart. Of more, the two that are closest become one, with the time between them.
	maxDowntimes = 50
)

// isUnrecorded tells whether the hub has no record of the time at which something was made.
func (u uptime) isUnrecorded(made time.Time) bool {
	return slices.ContainsFunc(u.downtimes, func(d downtime) bool {
		return !made.Before(d.from.Add(-uptimeSlack)) && !made.After(d.to.Add(uptimeSlack))
	})
}

// withRestart notes that a program begins: since the record's last word none has run.
func (u uptime) withRestart(now time.Time) uptime {
	next := uptime{until: now, downtimes: slices.Clone(u.downtimes)}
	if u.until.After(now) { // the clock was put back
		u.until = now
	}
	next.downtimes = append(next.downtimes, downtime{from: u.until, to: now})
	for len(next.downtimes) > maxDowntimes {
		next.downtimes = mergeClosestDowntimes(next.downtimes)
	}
	return next
}

// mergeClosestDowntimes makes one of the two downtimes that are closest to each other, in place.
func mergeClosestDowntimes(list []downtime) []downtime {
	apart := func(i int) time.Duration { return list[i].from.Sub(list[i-1].to) }
	at := 1
	for i := 2; i < len(list); i++ {
		if apart(i) < apart(at) {
			at = i
		}
	}
	list[at-1].to = list[at].to
	return slices.Delete(list, at, at+1)
}

// errUnreadableUptime says that a record cannot be read.
var errUnreadableUptime = errors.New("unreadable record of the hub's uptime")

// parseUptime reads the record.
func parseUptime(lease *coordinationv1.Lease) (uptime, error) {
	var u uptime
	if lease.Spec.RenewTime == nil {
		return u, fmt.Errorf("%w: it has no renewTime", errUnreadableUptime)
	}
	u.until = lease.Spec.RenewTime.Time
	text := lease.Annotations[switchyard.DowntimesAnnotation]
	for part := range strings.SplitSeq(text, ",") {
		from, to, _ := strings.Cut(part, "/")
		var d downtime
		var err error
		if from != "" {
			d.from, err = time.Parse(time.RFC3339, from)
		}
		if err == nil {
			d.to, err = time.Parse(time.RFC3339, to)
		}
		if err != nil || d.to.Before(d.from) {
			return uptime{until: u.until}, fmt.Errorf("%w: annotation %s has %q", errUnreadableUptime, switchyard.DowntimesAnnotation, part)
		}
		u.downtimes = append(u.downtimes, d)
	}
	return u, nil
}

// formatDowntimes is the value of DowntimesAnnotation.
func (u uptime) formatDowntimes() string {
	parts := make([]string, 0, len(u.downtimes))
	for _, d := range u.downtimes {
		from := ""
		if !d.from.IsZero() {
			from = d.from.UTC().Format(time.RFC3339)
		}
		parts = append(parts, from+"/"+d.to.UTC().Add(time.Second-1).Truncate(time.Second).Format(time.RFC3339))
	}
	return strings.Join(parts, ",")
}
