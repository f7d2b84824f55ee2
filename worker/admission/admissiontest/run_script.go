package admissiontest

import (
	"fmt"
	"strings"
	"time"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
)

// RunScript runs a script on an empty snapshot and returns what its cycle, status and waiting lines show.
func RunScript(script string) (string, error) {
	steps, err := Parse(script)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	s := cycle.NewScheduler(admission.NewSnapshot())
	for _, step := range steps {
		out.WriteString(step.Apply(s))
	}
	return out.String(), nil
}

// BuildSnapshot runs a script on an empty snapshot and returns the snapshot.
func BuildSnapshot(script string) (*admission.Snapshot, error) {
	steps, err := Parse(script)
	if err != nil {
		return nil, err
	}
	s := cycle.NewScheduler(admission.NewSnapshot())
	for _, step := range steps {
		step.Apply(s)
	}
	return s.Snapshot(), nil
}

// Apply does to the scheduler's snapshot what the step says and returns what it shows, if it shows something.
func (s *Step) Apply(scheduler *cycle.Scheduler) string {
	to := scheduler.Snapshot()
	switch s.Verb {
	case "queue":
		to.UpsertQueue(s.Queue)
	case "cohort":
		to.UpsertCohort(s.Cohort)
	case "flavor":
		to.UpsertFlavor(s.Flavor)
	case "pending":
		to.Push(s.Workload)
	case "admitted", "reserving":
		to.Admit(s.Reservation)
	case "usage":
		to.SetLocalUsage(Key(s.Name), s.Usage)
	case "remove":
		to.Remove(Key(s.Name))
	case "release":
		to.Release(Key(s.Name))
	case "forget":
		to.Forget(Key(s.Name))
	case "spare":
		to.UnmarkEvicting(Key(s.Name))
	case "delete":
		s.deleteObject(to)
	case "cycle":
		return PlanText(scheduler.Run(s.Now, s.Options))
	case "status":
		return statusText(s.Name, to.QueueStatus(s.Name))
	case "explain":
		return s.explain(to)
	case "waiting":
		return pendingText(s.Name, to.ListPending(s.Name))
	}
	return ""
}

func (s *Step) deleteObject(from *admission.Snapshot) {
	switch s.ObjectKind {
	case "queue":
		from.DeleteQueue(s.Name)
	case "cohort":
		from.DeleteCohort(s.Name)
	case "flavor":
		from.DeleteFlavor(s.Name)
	}
}

// PlanText writes a plan, one decision a line.
//
//	admit w to a: main 2 gpu=8@h100, workers 1 cpu=500m@cpus; borrowing 1
//	preempt for v in a: y (InClusterQueue), z (leaving)
//	wait x in a: WaitingForQuota: couldn't assign flavors ...
//	more
//	wake at 60
func PlanText(p admission.Plan) string {
	var out strings.Builder
	for _, d := range p.Decisions {
		out.WriteString(DecisionText(d) + "\n")
	}
	if p.HasMore {
		out.WriteString("more\n")
	}
	if !p.NextCycleAt.IsZero() {
		fmt.Fprintf(&out, "wake at %d\n", int(p.NextCycleAt.Sub(TimeAt(0))/time.Second))
	}
	return out.String()
}

// DecisionText writes a decision as PlanText does.
func DecisionText(d admission.Decision) string {
	switch d.Outcome {
	case admission.Wait:
		text := fmt.Sprintf("wait %s in %s: %s: %s", d.Workload.Name, d.Queue, d.Reason, d.Message)
		if len(d.ClosedPreemptionGates) > 0 {
			text += "; gates " + strings.Join(d.ClosedPreemptionGates, ", ")
		}
		return text
	case admission.Preempt:
		return fmt.Sprintf("preempt for %s in %s: %s", d.Workload.Name, d.Queue, VictimsText(d.Victims))
	case admission.Admit:
	}
	podSets := make([]string, len(d.Assignment.PodSets))
	for i, p := range d.Assignment.PodSets {
		words := []string{fmt.Sprintf("%s %d", p.Name, p.Count)}
		for j, r := range p.Usage {
			words = append(words, r.Resource+"="+amount.Format(r.Resource, r.Amount)+"@"+p.Flavors[j].Flavor)
		}
		podSets[i] = strings.Join(words, " ")
	}
	text := fmt.Sprintf("admit %s to %s: %s", d.Workload.Name, d.Queue, strings.Join(podSets, ", "))
	if d.Assignment.Borrowing > 0 {
		text += fmt.Sprintf("; borrowing %d", d.Assignment.Borrowing)
	}
	return text
}

// VictimsText writes the victims with their reasons: "x (InClusterQueue), y (leaving)".
func VictimsText(victims []admission.Victim) string {
	texts := make([]string, len(victims))
	for i, v := range victims {
		because := string(v.Reason)
		if v.Evicted {
			because = "leaving"
		}
		texts[i] = v.Workload.Name + " (" + because + ")"
	}
	return strings.Join(texts, ", ")
}

// statusText writes a status: "a: 1 active, 2 inadmissible, 3 reserving, 1 admitted; h100/gpu 12 reserved (4 borrowed), 8 used".
func statusText(name string, q admission.QueueStatus) string {
	text := fmt.Sprintf("%s: %d active, %d inadmissible, %d reserving, %d admitted",
		name, q.Active, q.Inadmissible, q.Reserving, q.Admitted)
	for i, r := range q.Reserved {
		text += fmt.Sprintf("; %s/%s %s reserved", r.Flavor, r.Resource, amount.Format(r.Resource, r.Total))
		if r.Borrowed > 0 {
			text += fmt.Sprintf(" (%s borrowed)", amount.Format(r.Resource, r.Borrowed))
		}
		text += fmt.Sprintf(", %s used", amount.Format(r.Resource, q.Used[i].Total))
	}
	return text + "\n"
}

func pendingText(queue string, waiting []admission.Workload) string {
	text := queue + " waits:"
	for _, w := range waiting {
		text += " " + w.Name
	}
	return text + "\n"
}
