package quotafit

import (
	"switchyard.dev/worker/admission/amount"
)

// Pods are equal pods of one pod set that may still be created.
type Pods struct {
	// Count is how many; not negative.
	Count int64
	// Each is what one pod adds to the use of a quota that applies to it, itself ("pods") included.
	Each amount.Vector
	// Undeclared are the compute resources, sorted and named as in a quota, that some container says nothing about: a
	// quota that restricts one of them refuses the pod.
	Undeclared []string
	// Terminating is a pod with a deadline of its own.
	Terminating bool
	// BestEffort is a pod whose containers ask for neither cpu nor memory.
	BestEffort bool
	// CrossNamespaceAffinity is a pod with affinity terms about pods of other namespaces.
	CrossNamespaceAffinity bool
	// PriorityClass is the class of the pod, empty for none.
	PriorityClass string
}

// Claim is what a workload may still create.
type Claim struct {
	Pods []Pods
	// Objects are other objects by the names of their quota, such as "count/jobs.batch".
	Objects amount.Vector
}

// WithoutExisting is the claim without the pods that exist already, given by position in Pods; a shorter list means none of the
// others. What exists is part of the quotas' use and must not be counted twice.
func (c Claim) WithoutExisting(existing []int64) Claim {
	rest := Claim{Pods: make([]Pods, len(c.Pods)), Objects: c.Objects}
	for i, p := range c.Pods {
		if i < len(existing) {
			p.Count = max(p.Count-existing[i], 0)
		}
		rest.Pods[i] = p
	}
	return rest
}

// usageIn is what the claim adds to the use of a quota, for all resources that it asks for.
func (c Claim) usageIn(q Quota) amount.Vector {
	var sum amount.Vector
	if len(q.Scopes) == 0 { // a quota with scopes counts pods only
		sum = sum.Plus(c.Objects)
	}
	for _, p := range c.Pods {
		if p.Count > 0 && q.appliesTo(p) {
			sum = sum.Plus(p.Each.Times(p.Count))
		}
	}
	return sum
}

// undeclaredIn are the resources, each once and sorted, that the quota restricts and some pod says nothing about.
func (c Claim) undeclaredIn(q Quota) []string {
	var names []string
	for _, hard := range q.Hard {
		for _, p := range c.Pods {
			if p.Count > 0 && q.appliesTo(p) && p.leavesUndeclared(hard.Resource) {
				names = append(names, hard.Resource)
				break
			}
		}
	}
	return names
}
