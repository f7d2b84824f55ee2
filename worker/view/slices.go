package view

import (
	"cmp"
	"fmt"
	"slices"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	api "switchyard.dev/worker/workload"
)

// Slices of elastic jobs (contract: job-kinds.md 15). A slice that replaces another pays for the difference only, so that the two belong
// together in the snapshot: from the moment at which the new one is assumed to hold quota the old one holds none there, whatever the API
// says of it until it is finished.

// replacedKey names the slice that a Workload claims to replace; false if none, or if slices do not count.
func (o Options) replacedKey(wl *kueue.Workload) (admission.Key, bool) {
	if !o.ElasticJobs {
		return admission.Key{}, false
	}
	named, found := api.ReplacedSlice(wl)
	return keyOf(named.Namespace, named.Name), found
}

// isSameReplacement tells whether two versions of a Workload claim to replace the same slice.
func (o Options) isSameReplacement(a, b *kueue.Workload) bool {
	was, did := o.replacedKey(a)
	is, does := o.replacedKey(b)
	return did == does && was == is
}

// indexReplacement finds the workload by the slice that it claims to replace.
func (x *workloadIndex) indexReplacement(w *workload) {
	if old, found := x.opts.replacedKey(w.obj); found {
		if x.replacements[old] == nil {
			x.replacements[old] = map[admission.Key]*workload{}
		}
		x.replacements[old][w.key()] = w
	}
}

func (x *workloadIndex) unindexReplacement(wl *kueue.Workload) {
	if old, found := x.opts.replacedKey(wl); found {
		delete(x.replacements[old], keyOf(wl.Namespace, wl.Name))
		if len(x.replacements[old]) == 0 {
			delete(x.replacements, old)
		}
	}
}

// replacedBy returns the slice that the workload replaces, nil if there is none that could be.
func (x *workloadIndex) replacedBy(w *workload) *workload {
	old := x.claimedBy(w)
	for at, steps := old, 0; at != nil; at, steps = x.claimedBy(at), steps+1 {
		if at == w || steps > maxSliceChain { // Slices that claim each other's places have no right to any.
			return nil
		}
	}
	return old
}

// maxSliceChain is how many slices with claims to one another are followed.
const maxSliceChain = 1000

// claimedBy returns the slice that the workload claims to replace, nil if it has no such claim.
func (x *workloadIndex) claimedBy(w *workload) *workload {
	key, found := x.opts.replacedKey(w.obj)
	if !found {
		return nil
	}
	old := x.workloads[key]
	if old == nil || api.IsFinished(old.obj) || !api.ReplacesSlice(w.obj, old.obj) {
		return nil
	}
	return old
}

// isReplaced tells whether another slice has taken over what the workload holds.
func (x *workloadIndex) isReplaced(w *workload) bool {
	for _, by := range x.replacements[w.key()] {
		if (by.assumed != nil || api.HasQuota(by.obj) && !api.IsFinished(by.obj)) && x.replacedBy(by) == w {
			return true
		}
	}
	return false
}

// syncSlices brings those in line that depend on the workload: the slice that it replaces, and those that are to replace it.
func (s *snapshotWriter) syncSlices(w *workload) {
	if old := s.index.replacedBy(w); old != nil {
		s.placeWorkload(old)
	}
	for _, next := range s.index.replacements[w.key()] {
		s.placeWorkload(next)
	}
}

// resyncReplaced brings the slice in line from which the workload took over before that was undone: the snapshot has restored it, whatever
// was heard of it since.
func (s *snapshotWriter) resyncReplaced(w *workload) {
	if w.entry.pending == nil || w.entry.pending.Replaces == (admission.Key{}) {
		return
	}
	key := w.entry.pending.Replaces
	s.snap.Remove(key)
	if old := s.index.workloads[key]; old != nil {
		old.entry = snapshotEntry{}
		s.placeWorkload(old)
	}
}

// replace has a pending slice take over from the one that it replaces, or wait for as long as that one has no quota to be taken over.
func (s *snapshotWriter) replace(w *workload, out *admission.Workload) {
	old := s.index.replacedBy(w)
	if old == nil {
		return
	}
	if out.Blocked == nil && (old.assumed != nil || !api.HasQuota(old.obj) || api.IsEvicted(old.obj) || string(old.obj.Status.Admission.ClusterQueue) != out.Queue) {
		out.Blocked = &admission.Block{
			Reason: admission.WaitingForQuota, LetsOthersPass: true,
			Message: fmt.Sprintf("waiting for the workload slice %s that it replaces", old.key()),
		}
	}
	if !api.HasQuota(old.obj) {
		return
	}
	out.Replaces = old.key()
	out.PodSets = slices.Clone(out.PodSets)
	for i := range out.PodSets {
		out.PodSets[i].Flavors = assignedFlavors(old.obj, out.PodSets[i].Name)
		out.PodSets[i].MinCount = 0
	}
}

// assignedFlavors returns the flavors of a pod set of a Workload that holds quota, by resource.
func assignedFlavors(wl *kueue.Workload, podSet string) []admission.ResourceFlavor {
	var flavors []admission.ResourceFlavor
	for i := range wl.Status.Admission.PodSetAssignments {
		psa := &wl.Status.Admission.PodSetAssignments[i]
		if string(psa.Name) != podSet {
			continue
		}
		for resource, flavor := range psa.Flavors {
			flavors = append(flavors, admission.ResourceFlavor{Resource: string(resource), Flavor: string(flavor)})
		}
	}
	slices.SortFunc(flavors, func(a, b admission.ResourceFlavor) int { return cmp.Compare(a.Resource, b.Resource) })
	return flavors
}
