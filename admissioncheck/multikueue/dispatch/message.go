package dispatch

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// originLabel is the public label of everything that a hub makes on workers; package mirror has a test that it is that of the API.
const originLabel = "kueue.x-k8s.io/multikueue-origin"

// The messages of the check (contract: multikueue.md 4).
const (
	msgLost     = `Admitting remote lost`
	msgGone     = `Admitting remote no longer exists`
	msgKept     = `Kept although it is being deleted, because its job may still run`
	msgNoRecord = `Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it`
)

// messageLimit is the longest message a check may have, in bytes (contract: kueue-api.md 1.2).
const messageLimit = 32768

// msgAdmitted is what a Ready check says, and the beginning of what it says when the job cannot be made.
func msgAdmitted(cluster string) string {
	return `The workload was admitted on ` + strconv.Quote(cluster)
}

// withPrevious adds the old state to a message.
func (t decision) withPrevious(message string) string {
	return truncate(message + `, Previously: ` + strconv.Quote(string(t.observed.Local.Check.State)))
}

func (t decision) msgEvicted(cluster string) string {
	return `Workload evicted on worker cluster: ` + strconv.Quote(cluster) +
		`, resetting for re-admission. Previously: ` + strconv.Quote(string(t.observed.Local.Check.State))
}

func (t decision) msgOutOfSync(cluster string) string {
	return t.withPrevious(`Remote workload on worker cluster ` + strconv.Quote(cluster) +
		` is out of sync with its user job, resetting for re-dispatch`)
}

func (t decision) msgCollision(cluster string) string {
	return t.withPrevious(`An object of the same name on worker cluster ` + strconv.Quote(cluster) +
		` is not ours, resetting for re-dispatch`)
}

func msgRelabelled(cluster string) string {
	return `Somebody has taken the label ` + originLabel + ` off the job on worker cluster ` + strconv.Quote(cluster) +
		`: put it back for its status to be seen here`
}

func (t decision) msgDrained(cluster string) string {
	return t.withPrevious(`Worker cluster ` + strconv.Quote(cluster) + ` is being drained, resetting for re-dispatch`)
}

// msgOwed says who may still run an earlier epoch's job and, if the policy promises that runs never overlap, how that ends.
func (t decision) msgOwed(clusters []string) string {
	text := "an earlier attempt may still run on " + joinNames(clusters)
	for _, d := range t.state.Debts {
		v := t.view(d.Cluster)
		if live := t.liveAnswer(v); live != nil && live.Job.isStray() {
			text += "; the job on " + strconv.Quote(d.Cluster) + " names this workload, though its label " + originLabel +
				" is not the hub's: delete it, or put the label back"
		}
		if t.forbidsOverlap() && !v.connected() && slices.Contains(clusters, d.Cluster) {
			text += "; " + t.msgHeld(v, d.StopsOnHubLost)
		}
		if t.forbidsOverlap() && v.connected() && !d.AbsentSince.IsZero() {
			text += "; " + t.msgPodsEnding(d)
		}
	}
	return text
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "no cluster"
	}
	return strings.Join(names, ", ")
}

// truncate cuts a message to the limit, at a rune boundary, and says so with three dots.
func truncate(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	cut := messageLimit - len("...")
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "..."
}
