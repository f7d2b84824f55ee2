package admissiontest

import (
	"fmt"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/cycle"
)

// ExplanationText writes how a waiting workload stands.
//
//	w in a behind 1: WaitingForQuota
//	main 2 on f: WaitingForQuota: gpu 4 of 8+4, 8 used, 2 available (WaitingForQuota)
//	main 2 on g: NoMatchingFlavor, untolerated taint k:NoSchedule: gpu 4 of 8+0, 0 used, 8 available
//	ends: x y
//	victims: z (InClusterQueue)
func ExplanationText(x admission.Explanation) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s in %s behind %d: %s\n", x.Workload.Name, x.Queue, x.Ahead, x.Reason)
	for _, podSet := range x.PodSets {
		for _, f := range podSet.Flavors {
			fmt.Fprintf(&out, "%s %d on %s: %s\n", podSet.Name, podSet.Count, f.Flavor, flavorText(f))
		}
		for _, resource := range podSet.Undeclared {
			fmt.Fprintf(&out, "%s %d: %s is undeclared\n", podSet.Name, podSet.Count, resource)
		}
	}
	if len(x.BlockingHolders) > 0 {
		out.WriteString("ends:")
		for _, k := range x.BlockingHolders {
			out.WriteString(" " + k.Name)
		}
		out.WriteString("\n")
	}
	if len(x.Victims) > 0 {
		out.WriteString("victims: " + VictimsText(x.Victims) + "\n")
	}
	return out.String()
}

func flavorText(f admission.FlavorExplanation) string {
	head := string(f.Reason)
	if head == "" {
		head = "fits"
	}
	if f.Message != "" {
		head += ", " + f.Message
	}
	accounts := make([]string, len(f.Resources))
	for i, r := range f.Resources {
		text := func(v amount.Amount) string { return amount.Format(r.Resource, v) }
		accounts[i] = fmt.Sprintf("%s %s of %s+%s, %s used, %s available",
			r.Resource, text(r.Requested), text(r.Nominal), text(r.Borrowable), text(r.Used), text(r.Available))
		if r.Reason != "" {
			accounts[i] += " (" + string(r.Reason) + ")"
		}
	}
	return head + ": " + strings.Join(accounts, "; ")
}

// explain explains a workload as if the next cycle had no options.
func (s *Step) explain(in *admission.Snapshot) string {
	x, found := cycle.Explain(in, Key(s.Name), cycle.Options{})
	if !found {
		return s.Name + " does not wait\n"
	}
	return ExplanationText(x)
}
