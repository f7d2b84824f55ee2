package dispatch

import "slices"

// MaxEpoch is the last epoch that there is, and the largest stamp that can be read.
const MaxEpoch int64 = 1 << 53

// maxPlausibleEpoch is further than anybody counts. A stamp above it does not raise a Workload's epoch: whoever forges one must not leave it
// without epochs to come.
const maxPlausibleEpoch = MaxEpoch / 2

// UnreadableEpoch is the epoch of an object whose stamp is none, is negative, or is further than anybody counts. No Workload is ever in
// that epoch: such an object is always one to be removed.
const UnreadableEpoch int64 = -1

// ReadStamp returns the epoch that a stamp says to a Workload in the given epoch.
func ReadStamp(stamp, epoch int64) int64 {
	if stamp < 0 || stamp > max(epoch, maxPlausibleEpoch) {
		return UnreadableEpoch
	}
	return stamp
}

// IsBelow reports whether an object with a stamp is to go with what was made below an epoch, see Action.Epoch.
func IsBelow(stamp, below int64) bool { return ReadStamp(stamp, below) < below }

// epochAfter is the epoch after another. The last is followed by itself.
func epochAfter(epoch int64) int64 { return min(epoch, MaxEpoch-1) + 1 }

// normalizeStamps returns the Observation with the stamps as they are read in an epoch. Nearly always that is what they are.
func (o Observation) normalizeStamps(epoch int64) Observation {
	odd := func(v ClusterView) bool { return v.normalizeStamps(epoch).changed != 0 }
	if !slices.ContainsFunc(o.Clusters, odd) {
		return o
	}
	o.Clusters = slices.Clone(o.Clusters)
	for i, v := range o.Clusters {
		o.Clusters[i] = v.normalizeStamps(epoch).ClusterView
	}
	return o
}

// stampReader is a ClusterView with its stamps read, and how many of them could not be.
type stampReader struct {
	ClusterView
	changed int
}

func (v ClusterView) normalizeStamps(epoch int64) stampReader {
	r := stampReader{ClusterView: v}
	r.normalize(&r.Copy.Epoch, epoch)
	r.normalize(&r.Job.Epoch, epoch)
	if v.Live != nil {
		live := *v.Live
		r.Live = &live
		r.normalize(&live.Copy.Epoch, epoch)
		r.normalize(&live.Job.Epoch, epoch)
	}
	return r
}

func (r *stampReader) normalize(stamp *int64, epoch int64) {
	if is := ReadStamp(*stamp, epoch); is != *stamp {
		*stamp = is
		r.changed++
	}
}
