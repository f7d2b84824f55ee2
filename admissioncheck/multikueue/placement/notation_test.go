package placement

import (
	"fmt"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

const gpu = "nvidia.com/gpu"

// pods asks for so many pods of each one GPU per given number.
func pods(count int32, gpus amount.Amount) admission.PodSet {
	return admission.PodSet{Name: "main", Count: count, Requests: amount.NewVector(amount.Request{Resource: gpu, Amount: gpus})}
}

// request is a workload of the LocalQueue team/main.
func request(sets ...admission.PodSet) Request {
	return Request{Namespace: "team", LocalQueue: "main", Kind: "Job.v1.batch", PodSets: sets}
}

// room is a flavor with GPUs: own, free with borrowing, and the largest there could be.
func room(flavor string, own, free, largest amount.Amount) FlavorQuota {
	one := func(a amount.Amount) []amount.Amount { return []amount.Amount{a} }
	return FlavorQuota{Flavor: flavor, Nominal: one(own), Free: one(free), Largest: one(largest)}
}

// evicting adds what a priority can use by evicting others.
func (r FlavorQuota) evicting(priority int32, free amount.Amount) FlavorQuota {
	r.Preempting = append(r.Preempting[:len(r.Preempting):len(r.Preempting)], Step{Priority: priority, Free: []amount.Amount{free}})
	return r
}

// cluster is one whose LocalQueue team/main has the flavors.
func cluster(name string, rooms ...FlavorQuota) Cluster {
	c := &Capacity{
		Queues: []Queue{{Name: "cq", Groups: []Group{{Resources: []string{gpu}, Flavors: rooms}}}},
		Locals: []LocalQueue{{Key: admission.Key{Namespace: "team", Name: "main"}, Queue: "cq"}},
	}
	for _, r := range rooms {
		c.Flavors = append(c.Flavors, admission.Flavor{Name: r.Flavor})
	}
	return Cluster{Name: name, Capacity: c, Weight: DefaultWeight}
}

// but is the cluster with a change; changes of the capacity are its own.
func (c Cluster) but(change func(c *Cluster, q *Queue)) Cluster {
	if c.Capacity != nil {
		own := *c.Capacity
		own.Queues = append([]Queue(nil), own.Queues...)
		own.Locals = append([]LocalQueue(nil), own.Locals...)
		own.Flavors = append([]admission.Flavor(nil), own.Flavors...)
		c.Capacity = &own
		change(&c, &own.Queues[0])
		return c
	}
	change(&c, nil)
	return c
}

// show renders choices: "w1 Fits, w2 Waits".
func show(choices []Choice) string {
	var parts []string
	for _, c := range choices {
		text := fmt.Sprintf("%s %s", c.Cluster, c.Reason)
		if !c.Eligible {
			text = "-" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
