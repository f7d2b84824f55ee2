package placement

import (
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// ObservedQueue is a ClusterQueue as it looks from the outside: what its spec and its status say.
type ObservedQueue struct {
	// Name is the name of the ClusterQueue, and Cohort that of its Cohort, empty for none.
	Name   string
	Cohort string
	// Groups are the resource groups of its spec, with their quotas.
	Groups []admission.ResourceGroup
	// Reserved is what its workloads hold (flavorsReservation in its status).
	Reserved quota.Usage
}

// QueuesFromObserved derives what ClusterQueues have room for from what all of them look like; in the order given, without what
// else is known of them. Cohorts count as far as ClusterQueues name them: a Cohort that has quota of its own, or one above
// it, cannot be seen. So Free is what is certain, and Potential goes up to the borrowing limits.
func QueuesFromObserved(seen []ObservedQueue) []Queue {
	tree := quota.NewTree()
	for _, q := range seen {
		tree.SetQueue(q.Name, q.Cohort, admission.Grants(q.Groups))
	}
	for _, q := range seen {
		tree.Reserve(q.Name, q.Reserved)
	}
	queues := make([]Queue, 0, len(seen))
	for i := range seen {
		out := Queue{Name: seen[i].Name}
		for _, g := range seen[i].Groups {
			group := Group{Resources: g.Resources}
			for _, f := range g.Flavors {
				group.Flavors = append(group.Flavors, seen[i].flavorQuota(tree, f, g.Resources))
			}
			out.Groups = append(out.Groups, group)
		}
		queues = append(queues, out)
	}
	return queues
}

// flavorQuota derives what is free of one flavor, with an amount for each of the resources. The tree must hold all queues and
// what they have reserved.
func (s *ObservedQueue) flavorQuota(tree *quota.Tree, f admission.FlavorQuota, resources []string) FlavorQuota {
	room := FlavorQuota{Flavor: f.Flavor}
	for _, resource := range resources {
		name := quota.FlavorResource{Flavor: f.Flavor, Resource: resource}
		cell := tree.Cell(s.Name, name)
		limit := cell.SubtreeQuota()
		if s.Cohort != "" {
			limit = limit.Add(borrowingLimit(f, resource))
		}
		own, free := cell.SubtreeQuota().Sub(cell.Usage()).AtLeast(0), cell.Available().AtLeast(0)
		room.Nominal = append(room.Nominal, min(own, free))
		room.Free = append(room.Free, free)
		room.Potential = append(room.Potential, max(free, limit.Sub(cell.Usage())))
		room.Largest = append(room.Largest, max(cell.PotentialAvailable(), limit))
	}
	return room
}

// borrowingLimit is the limit of what the queue may borrow of a resource.
func borrowingLimit(f admission.FlavorQuota, resource string) amount.Amount {
	for _, r := range f.Resources {
		if r.Resource == resource {
			return r.Borrowing
		}
	}
	return 0
}
