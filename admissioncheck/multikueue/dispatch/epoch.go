package dispatch

import "slices"

// MaxEpoch is the last epoch that there is, and the largest stamp that can be read.
const MaxEpoch int64 = 1 << 53

// farEpoch is further than anybody counts. A stamp above it does not raise a Workload's epoch: whoever forges one must not leave it
// without epochs to come.
const farEpoch = MaxEpoch / 2

// Unreadable is the epoch of an object whose stamp is none, is negative, or is further than anybody counts. No Workload is ever in
// that epoch: such an object is always one to be removed.
const Unreadable int64 = -1

// ReadStamp returns the epoch that a stamp says to a Workload in the given epoch.
func ReadStamp(stamp, epoch int64) int64 {
	if stamp < 0 || stamp > max(epoch, farEpoch) {
		return Unreadable
	}
	return stamp
}

// Before reports whether an object with a stamp is to go with what was made below an epoch, see Action.Epoch.
func Before(stamp, below int64) bool { return ReadStamp(stamp, below) < below }

// following is the epoch after another. The last is followed by itself.
func following(epoch int64) int64 { return min(epoch, MaxEpoch-1) + 1 }

// read returns the Observation with the stamps as they are read in an epoch. Nearly always that is what they are.
func (o Observation) read(epoch int64) Observation {
	odd := func(v ClusterView) bool { return v.read(epoch).odd != 0 }
	if !slices.ContainsFunc(o.Clusters, odd) {
		return o
	}
	o.Clusters = slices.Clone(o.Clusters)
	for i, v := range o.Clusters {
		o.Clusters[i] = v.read(epoch).ClusterView
	}
	return o
}

// reading is a ClusterView with its stamps read, and how many of them could not be.
type reading struct {
	ClusterView
	odd int
}

func (v ClusterView) read(epoch int64) reading {
	r := reading{ClusterView: v}
	r.stamp(&r.Copy.Epoch, epoch)
	r.stamp(&r.Job.Epoch, epoch)
	if v.Live != nil {
		live := *v.Live
		r.Live = &live
		r.stamp(&live.Copy.Epoch, epoch)
		r.stamp(&live.Job.Epoch, epoch)
	}
	return r
}

func (r *reading) stamp(stamp *int64, epoch int64) {
	if is := ReadStamp(*stamp, epoch); is != *stamp {
		*stamp = is
		r.odd++
	}
}
