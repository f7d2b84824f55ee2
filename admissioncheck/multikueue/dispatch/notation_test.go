package dispatch

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tables of this package are written in words. A state: `epoch 2 of r1; bound w1; nominated w1 w2; owed w1@1 w2@1!~9s` (of
// which w2 is known to stop its job, and was found empty 9 s ago). What is
// local: `quota r1 Ready evictions=1 active`. A cluster a line, what a live read found after the word live:
// `w1 up copy@2 admitted adopted job@2 behind live copy@2 evicted job@2`. An answer is described by describe.

// testNow is the Now of all tables.
func testNow() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func parseState(t *testing.T, text string) State {
	t.Helper()
	s := State{Epoch: 1}
	for _, clause := range strings.Split(text, ";") {
		words := strings.Fields(clause)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "epoch":
			s.Epoch = number(t, words[1])
			if len(words) > 3 {
				s.Reservation = words[3]
			}
		case "bound":
			s.Bound = words[1]
		case "stops":
			s.StopsOnHubLost = true
		case "nominated":
			s.Nominated = words[1:]
		case "round":
			s.Round = testNow().Add(-duration(t, words[1]))
		case "owed":
			for _, w := range words[1:] {
				cluster, epoch, _ := strings.Cut(w, "@")
				epoch, absent, found := strings.Cut(epoch, "~")
				epoch, stops := strings.CutSuffix(epoch, "!")
				d := Debt{Cluster: cluster, Epoch: number(t, epoch), StopsOnHubLost: stops}
				if found {
					d.AbsentSince = testNow().Add(-duration(t, absent))
				}
				s = s.withDebt(d)
			}
		default:
			t.Fatalf("a state has no %q", words[0])
		}
	}
	return s
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// parseLocal parses what is local; the other checks are ready unless it says waiting, and quota was reserved a second ago.
func parseLocal(t *testing.T, text string) Local {
	t.Helper()
	l := Local{Check: LocalCheck{State: Pending, OthersReady: true}}
	words := strings.Fields(text)
	for i, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "quota":
			l.Quota.Reserved, l.Quota.Reservation, l.Quota.ReservedAt = true, "r1", testNow().Add(-time.Second)
		case "r1", "r2":
			l.Quota.Reservation = w
		case "Pending", "Ready", "Retry", "Rejected":
			l.Check.State = CheckState(w)
		case "left":
			l.Siblings.Left = true
		case "awaited":
			l.Quota.AwaitsUnbinding = true
		case "dropped":
			l.Check.State = ""
		case "evicted":
			l.Quota.Evicted, l.Quota.EvictedMessage = true, "preempted"
		case "earlier-evictions":
			l.Slice.EarlierEvictions = number(t, value)
		case "evictions":
			l.Quota.Evictions = number(t, value)
		case "active":
			l.Job.Active = true
		case "stale":
			l.Job.StatusOutlivesPods = true
		case "unfenced":
			l.Job.Unfenced = true
		case "finished": // if it says when: finished=10m, or finished=-10m for one in the future
			l.Finished = true
			if value != "" {
				l.FinishedAt = testNow().Add(-duration(t, value))
			}
		case "deleted":
			l.Deleted = true
		case "kept":
			l.Deleted, l.KeptForJob = true, true
		case "waiting":
			l.Check.OthersReady = false
		case "kill":
			l.Job.KillGrace = duration(t, value)
		case "pin":
			l.Siblings.Pin = value
		case "passive":
			l.Slice = Slice{Passive: true, Elastic: true, NextOn: value}
		case "slice": // if it says after what: slice=epoch_3;_bound_w1
			l.Slice.Elastic, l.Slice.Replacement = true, true
			if value != "" {
				before := parseState(t, strings.ReplaceAll(value, "_", " "))
				l.Slice.Before = &before
			}
		case "sibling":
			l.Siblings.Awaited = true
		case "since":
			l.Quota.ReservedAt = testNow().Add(-duration(t, value))
		case "NoAdapter", "NotManaged":
			l.Job.Refusal = Refusal{Reason: Reason(key), Detail: strings.Join(words[i+1:], " ")}
			return l
		default:
			t.Fatalf("nothing local is %q", w)
		}
	}
	return l
}

// parseClusters parses one line per cluster.
func parseClusters(t *testing.T, text string) []ClusterView {
	t.Helper()
	var views []ClusterView
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) > 0 {
			r := &viewReader{t: t, view: ClusterView{Name: words[0], InConfig: true}}
			r.copy, r.job = &r.view.Copy, &r.view.Job
			for _, w := range words[1:] {
				r.word(w)
			}
			views = append(views, r.view)
		}
	}
	return views
}

// viewReader reads the words of one cluster; copy and job are what the words are about at present.
type viewReader struct {
	t     *testing.T
	view  ClusterView
	copy  *Copy
	job   *Job
	onJob bool
}

func (r *viewReader) word(w string) {
	key, value, _ := strings.Cut(w, "@")
	key, outcome, _ := strings.Cut(key, ":")
	switch key {
	case "up":
		r.view.Link = Link{State: Connected}
	case "lost":
		r.view.Link = Link{State: Unreachable, Since: testNow().Add(-duration(r.t, value))}
	case "unknown":
		r.view.Link = Link{}
	case "untried":
		r.view.Link.Untried = true
	case "stopped":
		r.view.Ended.StoppedEpoch = number(r.t, value)
	case "unlisted":
		r.view.InConfig = false
	case "ended-unfinished":
		r.view.Ended.Unfinished = true
	case "live":
		r.view.Live = &Live{Epoch: number(r.t, value), At: testNow().Add(-time.Second)}
		r.copy, r.job = &r.view.Live.Copy, &r.view.Live.Job
	case "old":
		r.view.Live.At = testNow().Add(-time.Minute)
	case "copy":
		*r.copy, r.onJob = Copy{Holder: Ours, Epoch: number(r.t, value), SpecMatches: true, HasWorkloadUID: true}, false
	case "job":
		*r.job, r.onJob = Job{Holder: Ours, Epoch: number(r.t, value), UID: "job", HasWorkloadUID: true, NamesWorkload: true}, true
	case "foreign", "predecessor", "relabelled", "deleting", "finished":
		r.common(key, outcome)
	case "was":
		*r.job = Job{Finished: &Outcome{Reason: outcome, Message: "over"}, Epoch: number(r.t, value), UID: "job", HasWorkloadUID: true, NamesWorkload: true}
	case "fenced":
		r.view.Fence.Alive, r.view.Fence.RenewedAt = true, testNow().Add(-duration(r.t, value))
	case "unrenewed":
		r.view.Fence.RenewedAt = time.Time{}
	case "gone":
		r.view.Operator.DeclaredGone = true
	case "lease-awaited":
		r.view.Fence.Lease, r.view.Fence.LeaseTrouble = LeaseAwaited, outcome
	case "lease-lapsed":
		r.view.Fence.Lease, r.view.Fence.LeaseTrouble = LeaseLapsed, outcome
	case "degraded":
		r.view.Health.Degraded = "its answers are overdue"
	case "on-trial":
		r.view.Health.Degraded, r.view.Health.OnTrial = "calls to it fail", true
	case "cordoned":
		r.view.Operator.Cordoned = true
	case "draining":
		r.view.Operator.Draining = true
	case "drained":
		r.view.Operator.Cordoned, r.view.Operator.BeingDrained = true, true
	case "fit":
		r.view.Fit.Score = int(number(r.t, value))
	case "unfit":
		r.view.Fit.Reason, r.view.Fit.Message = Reason(outcome), "no"
	case "asked": // if it says when: first, and last, as asked@4m@1m
		r.view.Offer.GateRequested = true
		if first, last, ok := strings.Cut(value, "@"); ok {
			r.view.Offer.GateFirstRequestedAt, r.view.Offer.GateRequestedAt = testNow().Add(-duration(r.t, first)), testNow().Add(-duration(r.t, last))
		}
	case "offered":
		r.view.Offer.StartedAt = testNow().Add(-duration(r.t, value))
	case "preempting":
		r.view.Fit.Preempting = true
	case "trouble":
		r.view.Health.Trouble = outcome
	case "behind":
		r.job.StatusBehind = true
	case "differing":
		r.job.SpecBehind = true
	case "of-slice":
		r.job.OfSlice, r.job.SizeBehind, r.job.NamesWorkload = true, true, false
	case "above":
		r.job.SizeAbove = true
	case "replaced":
		r.view.Replaced, r.view.EarlierWaits = Copy{Holder: Ours, Adopted: outcome == "adopted"}, r.view.EarlierWaits || outcome == "waiting"
	case "oversized":
		r.job.SizeBehind = true
	case "unstamped":
		r.job.HasWorkloadUID = false
	case "unnamed":
		r.job.NamesWorkload = false
	case "unmarked":
		r.copy.HasWorkloadUID = false
	case "another":
		r.job.UID = "another"
	default:
		r.copyWord(key, value)
	}
}

// common reads a word that may be about a copy or a job.
func (r *viewReader) common(key, outcome string) {
	out := &Outcome{Reason: outcome, Message: "over"}
	holder := map[string]Holder{"foreign": Foreign, "predecessor": Predecessor, "relabelled": Relabelled}[key]
	switch {
	case holder != Absent && r.onJob:
		r.job.Holder = holder
	case holder != Absent:
		r.copy.Holder = holder
	case key == "deleting" && r.onJob:
		r.job.Deleting = true
	case key == "deleting":
		r.copy.Deleting = true
	case r.onJob:
		r.job.Finished = out
	default:
		r.copy.Finished, r.copy.Adopted, r.copy.AdoptedBy = out, true, "job"
	}
}

func (r *viewReader) copyWord(key, value string) {
	switch key {
	case "quota":
		r.copy.QuotaReserved = true
	case "admitted":
		r.copy.QuotaReserved, r.copy.Admitted, r.copy.AdmittedAt = true, true, testNow().Add(-time.Minute)
		if value != "" {
			r.copy.AdmittedAt = testNow().Add(-duration(r.t, value))
		}
	case "refused":
		r.copy.Refused, r.copy.WaitingMessage = true, "never fits"
	case "stops":
		r.copy.StopsOnHubLost = true
	case "gated":
		r.copy.GateClosed = true
	case "blocked":
		r.copy.GateClosed, r.copy.BlockedOnGate, r.copy.BlockedSince = true, true, testNow().Add(-duration(r.t, value))
	case "opened":
		r.copy.GateOpenedAt = testNow().Add(-duration(r.t, value))
	case "adopted":
		r.copy.Adopted, r.copy.AdoptedBy = true, "job"
	case "unadopted":
		r.copy.Adopted, r.copy.AdoptedBy = false, ""
	case "evicted": // if it says when: evicted@4m
		r.copy.Evicted = true
		if value != "" {
			r.copy.EvictedAt = testNow().Add(-duration(r.t, value))
		}
	case "deactivating":
		r.copy.Deactivating = true
	case "changed":
		r.copy.SpecMatches = false
	case "larger":
		r.copy.SpecMatches, r.copy.OnlyLarger = false, true
	case "reprioritized":
		r.copy.SpecMatches, r.copy.OnlyPriorityDiffers = false, true
	default:
		r.t.Fatalf("a cluster has no %q", key)
	}
}

// describe says what a plan is: the reason, then what is stored or done.
func describe(s State, l Local, plan Plan) string {
	parts := []string{string(plan.Reason)}
	next := plan.Next
	if next.Epoch != s.Epoch || next.Reservation != s.Reservation {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("epoch %d of %s", next.Epoch, next.Reservation), " of "))
	}
	if next.Bound != s.Bound {
		parts = append(parts, strings.TrimSpace("bound "+next.Bound))
	}
	if next.StopsOnHubLost && !s.StopsOnHubLost {
		parts = append(parts, "stops")
	}
	if fmt.Sprint(next.Nominated) != fmt.Sprint(s.Nominated) {
		parts = append(parts, strings.TrimSpace("nominated "+strings.Join(next.Nominated, " ")))
	}
	if !next.Round.Equal(s.Round) {
		parts = append(parts, map[bool]string{true: "no round", false: "round"}[next.Round.IsZero()])
	}
	if fmt.Sprint(next.Debts) != fmt.Sprint(s.Debts) {
		owed := "owed"
		for _, d := range next.Debts {
			owed += fmt.Sprintf(" %s@%d", d.Cluster, d.Epoch) + map[bool]string{true: "!"}[d.StopsOnHubLost]
			if !d.AbsentSince.IsZero() {
				owed += "~" + testNow().Sub(d.AbsentSince).String()
			}
		}
		parts = append(parts, owed)
	}
	if plan.CheckResult != (CheckResult{State: l.Check.State, Message: l.Check.Message}) {
		parts = append(parts, string(plan.CheckResult.State)+" "+plan.CheckResult.Message)
	}
	for _, a := range plan.Actions {
		parts = append(parts, describeAction(a))
	}
	if e := plan.Event; e != nil {
		parts = append(parts, map[bool]string{false: "event", true: "warning"}[e.Warning])
	}
	if !plan.WakeAt.IsZero() {
		parts = append(parts, "wake in "+plan.WakeAt.Sub(testNow()).String())
	}
	return strings.TrimSpace(strings.Join(parts, "; "))
}

func describeAction(a Action) string {
	text := string(a.Verb) + " " + a.Cluster
	switch a.Verb {
	case Retract:
		text += fmt.Sprintf(" below %d", a.Epoch)
		if a.OnlyCopy {
			text += " the copy only"
		}
		if a.SpareFinished {
			text += " sparing"
		}
		if a.Foreground {
			text += " in the foreground"
		}
	case CreateOffer, CreateJob, UpdateOffer, OpenGate:
		text += fmt.Sprintf("@%d", a.Epoch) + map[bool]string{true: " stops"}[a.StopsOnHubLost] + map[bool]string{true: " gated"}[a.GateClosed]
	case EvictRemote:
		text += " " + a.Message
	case Finish:
		text += " " + a.Outcome.Reason
	case LiveRead, CopyStatus, DrainStatus, SyncSpec:
	case ResizeJob:
		text += map[bool]string{true: " smaller"}[a.OnlyShrink]
	}
	return strings.TrimSpace(text)
}

// stepCase is one story: what is stored, what is seen, what follows.
type stepCase struct {
	name     string
	state    string
	local    string
	clusters string
	want     string
}

func runStepCases(t *testing.T, rows []stepCase) {
	t.Helper()
	runStepCasesUnder(t, Compatible(15*time.Minute), rows)
}

func runStepCasesUnder(t *testing.T, p Policy, rows []stepCase) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s, l := parseState(t, r.state), parseLocal(t, r.local)
			o := Observation{Now: testNow(), Local: l, Clusters: parseClusters(t, r.clusters)}
			got := describe(s, l, Step(s, o, p))
			if got != r.want {
				t.Errorf("\n got %s\nwant %s", got, r.want)
			}
		})
	}
}
