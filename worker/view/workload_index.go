package view

import (
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// workloadIndex has what is known of each Workload, and finds Workloads by what they refer to. Callers hold the view's mutex.
type workloadIndex struct {
	opts      Options
	workloads map[admission.Key]*workload
	// workloadsByLocalQueue finds the workloads of a LocalQueue, which need not exist.
	workloadsByLocalQueue map[admission.Key]map[admission.Key]*workload
	// workloadsByRuntimeClass finds the workloads whose pods name a RuntimeClass, which need not exist.
	workloadsByRuntimeClass map[string]map[admission.Key]*workload
	// replacements finds the workloads that claim to replace a slice, which need not exist.
	replacements map[admission.Key]map[admission.Key]*workload
}

func newWorkloadIndex(opts Options) *workloadIndex {
	return &workloadIndex{
		opts:                    opts,
		workloads:               map[admission.Key]*workload{},
		workloadsByLocalQueue:   map[admission.Key]map[admission.Key]*workload{},
		workloadsByRuntimeClass: map[string]map[admission.Key]*workload{},
		replacements:            map[admission.Key]map[admission.Key]*workload{},
	}
}

func (x *workloadIndex) indexWorkload(w *workload) {
	local := keyOf(w.obj.Namespace, string(w.obj.Spec.QueueName))
	if x.workloadsByLocalQueue[local] == nil {
		x.workloadsByLocalQueue[local] = map[admission.Key]*workload{}
	}
	x.workloadsByLocalQueue[local][keyOf(w.obj.Namespace, w.obj.Name)] = w
	x.indexRuntimeClasses(w)
	x.indexReplacement(w)
}

func (x *workloadIndex) unindexWorkload(wl *kueue.Workload) {
	local := keyOf(wl.Namespace, string(wl.Spec.QueueName))
	delete(x.workloadsByLocalQueue[local], keyOf(wl.Namespace, wl.Name))
	if len(x.workloadsByLocalQueue[local]) == 0 {
		delete(x.workloadsByLocalQueue, local)
	}
	x.unindexRuntimeClasses(wl)
	x.unindexReplacement(wl)
}

func (x *workloadIndex) indexRuntimeClasses(w *workload) {
	for _, class := range runtimeClassNames(w.obj) {
		if x.workloadsByRuntimeClass[class] == nil {
			x.workloadsByRuntimeClass[class] = map[admission.Key]*workload{}
		}
		x.workloadsByRuntimeClass[class][w.key()] = w
	}
}

func (x *workloadIndex) unindexRuntimeClasses(wl *kueue.Workload) {
	for _, class := range runtimeClassNames(wl) {
		delete(x.workloadsByRuntimeClass[class], keyOf(wl.Namespace, wl.Name))
		if len(x.workloadsByRuntimeClass[class]) == 0 {
			delete(x.workloadsByRuntimeClass, class)
		}
	}
}

// lookupWorkload returns what is known of the same Workload: one that was deleted and made again is another.
func (x *workloadIndex) lookupWorkload(wl *kueue.Workload) *workload {
	w := x.workloads[keyOf(wl.Namespace, wl.Name)]
	if w == nil || w.obj.UID != wl.UID {
		return nil
	}
	return w
}
