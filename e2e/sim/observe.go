package sim

import (
	"slices"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// observe makes the Observation of one Workload from what the program knows.
func (w *World) observe(item workload) dispatch.Observation {
	o := dispatch.Observation{Now: w.now, Local: local(item), CutOffEnded: w.program.cutOffEnded}
	for _, name := range w.hub.listed {
		o.Clusters = append(o.Clusters, w.view(item, name, true))
	}
	for _, c := range w.workers {
		if !slices.Contains(w.hub.listed, c.name) {
			o.Clusters = append(o.Clusters, w.view(item, c.name, false))
		}
	}
	return o
}

func local(item workload) dispatch.Local {
	return dispatch.Local{
		Deleted:          item.deleting,
		Finished:         item.finished != nil,
		QuotaReserved:    item.quota,
		Reservation:      item.reservation,
		ReservedAt:       item.reservedAt,
		Evicted:          item.evicted,
		EvictedMessage:   item.evictedMsg,
		Evictions:        item.evictions,
		Check:            item.check,
		CheckMessage:     item.message,
		OtherChecksReady: true,
		JobActive:        item.status.active,
	}
}

func (w *World) view(item workload, name string, listed bool) dispatch.ClusterView {
	r := w.program.remote[name]
	v := dispatch.ClusterView{
		Name:     name,
		InConfig: listed,
		Link:     r.link,
		Copy:     copyFacts(item, r.watch.copies.get(item.name)),
		Job:      jobFacts(item, r.watch.jobs.get(item.name)),
	}
	if ended, watched := r.watch.jobs.gone[item.name]; watched && ended.uid == item.uid && v.Job.Holder == dispatch.Absent {
		v.EndedUnfinished = ended.finished == nil
		v.Job.Finished, v.Job.Epoch = ended.finished, ended.epoch
	} else if ended, watched := r.watch.copies.gone[item.name]; watched && ended.uid == item.uid {
		v.EndedUnfinished = !ended.adopted && ended.finished == nil && v.Copy.Holder == dispatch.Absent
	}
	if a, ok := r.live[item.name]; ok {
		v.Live = &dispatch.Live{Epoch: a.epoch, At: a.at, Copy: copyFacts(item, a.copy), Job: jobFacts(item, a.job)}
	}
	return v
}

func (o owner) holder(item workload) dispatch.Holder {
	switch {
	case !o.ours:
		return dispatch.Foreign
	case o.uid != item.uid:
		return dispatch.Predecessor
	}
	return dispatch.Ours
}

func copyFacts(item workload, c present[copied]) dispatch.Copy {
	if !c.there {
		return dispatch.Copy{}
	}
	v := c.value
	same := v.gpu == item.gpu
	return dispatch.Copy{
		Holder:       v.holder(item),
		Epoch:        v.epoch,
		SpecMatches:  same && v.priority == item.priority,
		PriorityOnly: same && v.priority != item.priority,
		Quota:        v.quota,
		Waiting:      v.waiting,
		Refused:      v.refused,
		Admitted:     v.admitted,
		AdmittedAt:   v.admittedAt,
		Evicted:      v.evicted,
		Deactivating: v.deactivating,
		Adopted:      v.adopted,
		Finished:     v.finished,
		Deleting:     v.deleting,
	}
}

func jobFacts(item workload, j present[remoteJob]) dispatch.Job {
	if !j.there {
		return dispatch.Job{}
	}
	v := j.value
	return dispatch.Job{
		Holder:   v.holder(item),
		Epoch:    v.epoch,
		Finished: v.finished,
		Deleting: v.deleting,
		Behind:   v.status() != item.status,
	}
}
