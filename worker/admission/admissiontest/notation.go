// Package admissiontest is a text notation for snapshots and plans, so that a test of the admission core can be read
// aloud, and naive twins of the quota tree and of the cycle that are too slow and too simple to be wrong.
//
// A script is a list of lines, each a verb and its words; # starts a comment. Times are seconds after Epoch. cpu is
// written as in a manifest (2 or 500m), everything else as a whole number with an optional binary suffix.
//
//	cohort all parent=top h100 gpu=8 borrow=4 lend=2        a Cohort with quota of its own
//	queue a cohort=all strict h100 gpu=8 borrow=4 cpu=64    flavor h100 of gpu and cpu; limits follow their resource
//	queue b h100 gpu=8 l4 gpu=16 | cpus cpu=64              two flavors of one group, then another group
//	queue c inactive borrow-next preempt-stop prefer-borrowing check=budget check=mk@h100,l4 h100 gpu=8
//	queue d preempt=LowerPriority reclaim=Any borrow-within=LowerPriority:50 weight=0.5 usage-based h100 gpu=8
//	cohort all weight=2                                     preempt is withinClusterQueue; :50 is the threshold
//	flavor h100 label=kind:h100 taint=gpu:yes:NoSchedule tolerate=spot
//	pending w queue=a prio=10 at=3 gpu=4 count=2            pod set main; at is the queue-order timestamp
//	pending x queue=a lq=team cpu=1 + workers count=8 gpu=1 two pod sets, main and workers
//	pending y queue=a after=60 blocked=Misconfigured aside select=kind:h100 tolerate=gpu group=g
//	pending z queue=a gpu=1 affinity=kind:In:h100,a100&zone:Exists
//	admitted v queue=a h100/gpu=4                           holds quota; reserving in place of admitted if checks wait
//	admitted u queue=a prio=5 at=1 since=9 evicted ready h100/gpu=4    since is when the quota was reserved
//	usage team 7                                            what LocalQueue team used of late
//	remove w / release v / forget w / delete queue a / delete cohort all / delete flavor h100
//	pending t queue=a gpu=1 count=8 min=2 gate=approval     at least 2 pods; a preemption gate that is closed
//	pending s queue=a gpu=2 replaces=v runs-in=gpu:h100     takes over from v, whose pods have flavor h100 for gpu
//	spare v                                                 the eviction of v could not be written
//	cycle at=5 max=10 ignore-undeclared                     runs a cycle and shows its plan
//	cycle fair block-ready preemptors-first                 fair sharing; further words at cycleSwitches
//	status a / waiting a                                    shows a queue
//	explain w                                               shows how a waiting workload stands
package admissiontest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
)

// Namespace is where every workload and local queue of a script lives.
const Namespace = "ns"

// TimeAt returns the time that is n seconds after the epoch of all scripts.
func TimeAt(n int) time.Time {
	return time.Date(2026, time.November, 1, 0, 0, n, 0, time.UTC)
}

// Key returns the key of a workload or local queue of a script.
func Key(name string) admission.Key { return admission.Key{Namespace: Namespace, Name: name} }

// Step is a line of a script, parsed. The field that Verb names is set.
type Step struct {
	Line string
	Verb string
	// Name is what the verb is about.
	Name string
	// ObjectKind is queue, cohort or flavor for the verb delete.
	ObjectKind  string
	Queue       admission.ClusterQueue
	Cohort      admission.Cohort
	Flavor      admission.Flavor
	Workload    admission.Workload
	Reservation admission.Reservation
	Usage       amount.Amount
	Now         time.Time
	Options     cycle.Options
}

// Parse reads a script.
func Parse(script string) ([]Step, error) {
	var steps []Step
	for i, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		step := Step{Line: strings.TrimSpace(line), Verb: words[0]}
		if err := step.parse(words[1:]); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, step.Line, err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func (s *Step) parse(words []string) error {
	switch {
	case s.Verb == "cycle":
		return s.parseCycle(words)
	case s.Verb == "delete" && len(words) == 2:
		s.ObjectKind, s.Name = words[0], words[1]
		return nil
	case len(words) == 0:
		return fmt.Errorf("the verb needs a name")
	}
	s.Name, words = words[0], words[1:]
	switch s.Verb {
	case "queue":
		return s.parseQueue(words)
	case "cohort":
		return s.parseCohort(words)
	case "flavor":
		return s.parseFlavor(words)
	case "pending":
		return s.parseWorkload(words)
	case "admitted", "reserving":
		return s.parseReservation(words)
	case "usage":
		return s.parseUsage(words)
	case "remove", "release", "forget", "spare", "status", "waiting", "explain":
		if len(words) == 0 {
			return nil
		}
	}
	return fmt.Errorf("cannot be understood")
}

func (s *Step) parseCycle(words []string) error {
	s.Now = TimeAt(0)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi("0" + value)
		if err != nil {
			return err
		}
		set, known := cycleOptions(&s.Options)[key]
		switch {
		case key == "at":
			s.Now = TimeAt(n)
		case key == "max":
			s.Options.MaxAdmissions = n
		case known:
			*set = true
		default:
			return fmt.Errorf("a cycle knows no %q", word)
		}
	}
	return nil
}

// cycleOptions are the words that switch something on in a cycle.
func cycleOptions(o *cycle.Options) map[string]*bool {
	return map[string]*bool{
		"ignore-undeclared":           &o.IgnoreUndeclared,
		"block-ready":                 &o.BlockUntilPodsReady,
		"fair":                        &o.FairSharing,
		"preemptors-first":            &o.PrioritizePreemptors,
		"without-fungibility":         &o.WithoutFungibility,
		"without-partial":             &o.WithoutPartialAdmission,
		"without-priority":            &o.WithoutPrioritySorting,
		"without-non-borrowing-first": &o.WithoutNonBorrowingFirst,
		"without-nominal-bypass":      &o.WithoutNominalBypass,
	}
}

// ParseAmount reads an amount of the resource.
func ParseAmount(resource, text string) (amount.Amount, error) {
	if text == "unlimited" {
		return amount.Unlimited, nil
	}
	scale := int64(1)
	if amount.UnitOf(resource) == amount.Milli {
		if milli, found := strings.CutSuffix(text, "m"); found {
			text = milli
		} else {
			scale = 1000
		}
	}
	for i, suffix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if number, found := strings.CutSuffix(text, suffix); found {
			text, scale = number, int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("amount of %s: %w", resource, err)
	}
	return amount.Amount(n).Times(scale), nil
}
