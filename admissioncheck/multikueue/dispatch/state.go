package dispatch

import (
	"slices"
	"strings"
	"time"
)

// State is all that must survive a crash. It lives on the hub's Workload: Nominated in status.nominatedClusterNames,
// Bound in status.clusterName, the rest in one condition (see Encode), which is absent while it would say nothing.
type State struct {
	// Epoch counts the retreats of this Workload, from 1. Every remote object is stamped with the epoch it was made in.
	Epoch int64
	// Reservation identifies the hub's quota reservation in which Epoch is used (LocalQuota.Reservation at that time). Empty
	// means that the epoch has not been used yet, or that it is the first one, which needs no record.
	Reservation string
	// Nominated lists the clusters that were offered the Workload, sorted by name; empty once Bound is set.
	Nominated []string
	// Bound is the one cluster that may hold the job of this epoch. It keeps its value during a retreat, until the core
	// releases the quota; State.Retreating tells the two apart.
	Bound string
	// StopsOnHubLost is set if the bound copy is stamped so that the worker stops its job when it misses the hub. It is noted
	// when the cluster is bound, because afterwards the cluster may be out of reach, and the cache empty.
	StopsOnHubLost bool
	// Round is when the dispatcher nominated last, in whole seconds; zero if it does not nominate in rounds.
	Round time.Time
	// Unreadable is set if there is a record that cannot be read, so that what it said is lost. It is not stored.
	Unreadable bool
	// Debts lists the clusters that may hold a job of an earlier epoch, sorted by name, one entry a cluster.
	Debts []Debt
}

// Debt says that Cluster may still hold a job made in Epoch or before.
type Debt struct {
	// Cluster is the name of the debtor.
	Cluster string
	// Epoch is the last one that the job can be of; 0 for a predecessor's that was seen in the first epoch.
	Epoch int64
	// StopsOnHubLost is State.StopsOnHubLost of that time.
	StopsOnHubLost bool
	// AbsentSince is when a live read first found nothing there though the pods were not seen to have ended (see
	// debts.absentSince), in whole seconds; zero if none has. It is stored so that neither a restart nor a link that comes and
	// goes begins the wait anew.
	AbsentSince time.Time
}

// equal reports whether two debts say the same.
func (d Debt) equal(o Debt) bool {
	return d.Cluster == o.Cluster && d.Epoch == o.Epoch && d.StopsOnHubLost == o.StopsOnHubLost && d.AbsentSince.Equal(o.AbsentSince)
}

// Retreating reports that the bound cluster has been given up already: it is bound and owed by. The binding is then
// only a name for clients to read, until the core clears it together with the quota reservation.
func (s State) Retreating() bool { return s.Bound != "" && s.hasDebt(s.Bound) }

// Names returns every cluster the State mentions, sorted. The Observation must have a view of each.
func (s State) Names() []string {
	names := slices.Clone(s.Nominated)
	if s.Bound != "" {
		names = append(names, s.Bound)
	}
	for _, d := range s.Debts {
		names = append(names, d.Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Equal reports whether two States say the same.
func (s State) Equal(o State) bool {
	return s.Epoch == o.Epoch && s.Reservation == o.Reservation && s.Bound == o.Bound && s.StopsOnHubLost == o.StopsOnHubLost && s.Round.Equal(o.Round) &&
		slices.Equal(s.Nominated, o.Nominated) && slices.EqualFunc(s.Debts, o.Debts, Debt.equal)
}

// isNominated reports whether a cluster is nominated.
func (s State) isNominated(cluster string) bool { return slices.Contains(s.Nominated, cluster) }

// hasDebt reports whether a cluster is among the debtors.
func (s State) hasDebt(cluster string) bool {
	return slices.ContainsFunc(s.Debts, func(d Debt) bool { return d.Cluster == cluster })
}

// withDebt returns the State with a debt added; a later epoch replaces an earlier one of the same cluster, and whether its job
// stops is only known if it is of both.
func (s State) withDebt(debt Debt) State {
	debts := slices.Clone(s.Debts)
	at, found := slices.BinarySearchFunc(debts, debt.Cluster, func(d Debt, c string) int { return strings.Compare(d.Cluster, c) })
	switch {
	case !found:
		debts = slices.Insert(debts, at, debt)
	case debts[at].Epoch < debt.Epoch:
		debt.StopsOnHubLost = debts[at].StopsOnHubLost && debt.StopsOnHubLost
		debts[at] = debt
	}
	s.Debts = debts
	return s
}

// retreat gives up the epoch: offers are withdrawn, the bound cluster becomes a debtor, the next epoch begins unused.
func (s State) retreat(next int64) State {
	if s.Bound != "" && !s.hasDebt(s.Bound) {
		s = s.withDebt(Debt{Cluster: s.Bound, Epoch: next - 1, StopsOnHubLost: s.StopsOnHubLost})
	}
	s.Epoch = next
	s.Reservation, s.StopsOnHubLost = "", false
	s.Nominated, s.Round = nil, time.Time{}
	return s
}
