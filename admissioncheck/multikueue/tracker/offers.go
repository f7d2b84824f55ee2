package tracker

import (
	"slices"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/placement"
	"switchyard.dev/worker/admission"
)

// offer is one Workload under way to one cluster: from its nomination until the cluster itself counts what it takes.
//
//	assumed -> stored -> reserved there -> counted
type offer struct {
	// sentAt is when the first call of the epoch began to make the copy; zero if none did, or that is not known.
	sentAt time.Time
	epoch  int64
	// createdAt is when the copy was made; zero if that is not known.
	createdAt time.Time
	// reservedAt is when the copy got quota, by the cluster's clock, and reservationSeenAt when the hub saw it; zero while it
	// has none.
	reservedAt, reservationSeenAt time.Time
	// expiresAt is when the offer is dropped unless its nomination was observed to be stored; zero once it was.
	expiresAt time.Time
	// isCounted tells that the cluster counts the offer itself.
	isCounted bool
}

// isExpired reports whether the offer was not confirmed in time.
func (o *offer) isExpired(now time.Time) bool {
	return !o.expiresAt.IsZero() && !now.Before(o.expiresAt)
}

// sweepRecord tells of the last look through the offers to a cluster: the time of its report then, and when it was.
type sweepRecord struct{ reportedAt, at time.Time }

const (
	// uncountedTTL is how long a reservation counts as in flight on a cluster that does not say when it has counted.
	uncountedTTL = 5 * time.Second
	// sweepInterval is how often the offers to a cluster are looked through although it has not reported.
	sweepInterval = time.Second
)

// offer returns the offer of a Workload to a cluster, beginning if need be. One that no nomination precedes expires: its
// Workload may have gone.
func (t *Tracker) offer(w Workload, cluster string, now time.Time) *offer {
	s := t.state(w, now)
	of := s.offers[cluster]
	if of == nil {
		of = &offer{expiresAt: now.Add(UnconfirmedTTL)}
		s.offers[cluster], t.cluster(cluster).offers[w.Key] = of, of
	}
	return of
}

// Assume records what a Workload will take on a cluster that it is about to be nominated to, so that the next Workload is not
// offered the same quota.
func (t *Tracker) Assume(w Workload, cluster string, claims []placement.Claim, now time.Time) {
	of := t.offer(w, cluster, now)
	if !of.isCounted {
		of.expiresAt = now.Add(UnconfirmedTTL)
		t.claims.Set(cluster, w.Key, claims)
	}
}

// send records that a call begins to make the copy in an epoch. The first call of the epoch counts.
func (o *offer) send(epoch int64, now time.Time) {
	if o.sentAt.IsZero() || o.epoch != epoch {
		o.sentAt, o.epoch = now, epoch
	}
}

// create records that the copy was made.
func (o *offer) create(now time.Time) {
	if o.createdAt.IsZero() {
		o.createdAt = now
	}
}

// observeOffers brings the offers of a Workload up to date. Without a reservation the stored ones have ended, but not those that
// are about to be stored together with their reservation: the observation may be older than either.
func (t *Tracker) observeOffers(w Workload, s dispatch.State, o dispatch.Observation, plan dispatch.Plan) {
	l, known := o.Local, t.lookup(w)
	switch {
	case l.Deleted:
		t.removeOffers(w.Key, known, func(string, *offer) bool { return true })
		return
	case !l.Quota.Reserved || s.Retreating():
		t.removeOffers(w.Key, known, func(_ string, of *offer) bool { return of.expiresAt.IsZero() })
		return
	}
	wanted := slices.Concat(s.Nominated, plan.Next.Nominated)
	if s.Bound != "" {
		wanted = []string{s.Bound}
	}
	t.removeOffers(w.Key, known, func(cluster string, _ *offer) bool { return !slices.Contains(wanted, cluster) })
	for i := range o.Clusters {
		v := &o.Clusters[i]
		if of := known.offers[v.Name]; of != nil && (v.Name == s.Bound || slices.Contains(s.Nominated, v.Name)) {
			of.confirm(v.Copy, o.Now)
		}
	}
}

// confirm records that the nomination is stored, and what the copy shows of its reservation.
func (o *offer) confirm(c dispatch.Copy, now time.Time) {
	o.expiresAt = time.Time{}
	if o.reservedAt.IsZero() && c.QuotaReserved && !c.Since.IsZero() {
		o.reservedAt, o.reservationSeenAt = c.Since, now
	}
}

// removeOffers removes those of the offers of a Workload that the function picks.
func (t *Tracker) removeOffers(key admission.Key, s *workloadState, which func(cluster string, of *offer) bool) {
	for cluster, of := range s.offers {
		if which(cluster, of) {
			t.removeOffer(key, s, cluster)
		}
	}
}

// removeOffer removes an offer from the states of its Workload and of its cluster, with its claims.
func (t *Tracker) removeOffer(key admission.Key, s *workloadState, cluster string) {
	t.claims.Set(cluster, key, nil)
	delete(s.offers, cluster)
	delete(t.cluster(cluster).offers, key)
}

// InFlight returns what other Workloads have under way to a cluster. ReportedAt is when the cluster's own figures were read, by
// its clock; zero if that is not known. What those figures count is in flight no more.
func (t *Tracker) InFlight(cluster string, except admission.Key, reportedAt, now time.Time) []placement.Claim {
	if last := t.lookupCluster(cluster).sweep; !last.reportedAt.Equal(reportedAt) || !now.Before(last.at.Add(sweepInterval)) {
		t.sweepOffers(cluster, reportedAt, now)
	}
	return t.claims.List(cluster, except)
}

// sweepOffers drops the offers to a cluster that were never stored, and those that the cluster counts: what got quota before its
// figures were read. Times of reservations are whole seconds.
func (t *Tracker) sweepOffers(cluster string, reportedAt, now time.Time) {
	t.cluster(cluster).sweep = sweepRecord{reportedAt, now}
	for key, of := range t.cluster(cluster).offers {
		switch {
		case of.isExpired(now):
			t.removeOffer(key, t.workloads[key], cluster)
		case of.isCounted || of.reservedAt.IsZero():
		case !reportedAt.IsZero() && !reportedAt.Before(of.reservedAt.Add(time.Second)),
			reportedAt.IsZero() && !now.Before(of.reservationSeenAt.Add(uncountedTTL)):
			of.isCounted = true
			t.claims.Set(cluster, key, nil)
		}
	}
}
