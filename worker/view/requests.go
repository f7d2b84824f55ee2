package view

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/podrequests"
)

// requestedPodSets is what the spec of a workload asks for in its namespace, computed once for as long as neither changes.
type requestedPodSets struct {
	// podSets count all pods, reclaimable ones included.
	podSets []admission.PodSet
	// problem says why pods of the workload cannot be created; empty when they can.
	problem string
}

// requestCacheKey names what many workloads share (see Slim): the very same pod sets in the same namespace.
type requestCacheKey struct {
	namespace string
	podSets   *kueue.PodSet
}

// requestCalculator computes what workloads ask for. Callers hold the view's mutex.
type requestCalculator struct {
	opts Options
	// limitRanges are by namespace, those of one namespace by name.
	limitRanges    map[string][]*corev1.LimitRange
	runtimeClasses map[string]*nodev1.RuntimeClass
	// cache remembers what workloads ask for that share their pod sets.
	cache map[requestCacheKey]*requestedPodSets
}

func newRequestCalculator(opts Options) *requestCalculator {
	return &requestCalculator{
		opts: opts, limitRanges: map[string][]*corev1.LimitRange{}, runtimeClasses: map[string]*nodev1.RuntimeClass{},
		cache: map[requestCacheKey]*requestedPodSets{},
	}
}

// requestedBy returns what the workload asks for.
func (c *requestCalculator) requestedBy(w *workload) *requestedPodSets {
	if w.requested != nil {
		return w.requested
	}
	if len(w.obj.Spec.PodSets) == 0 {
		return &requestedPodSets{}
	}
	of := requestCacheKey{w.obj.Namespace, &w.obj.Spec.PodSets[0]}
	if c.cache[of] == nil {
		if len(c.cache) >= maxCacheEntries {
			clear(c.cache)
		}
		c.cache[of] = c.computeRequested(w.obj)
	}
	w.requested = c.cache[of]
	return w.requested
}

// computeRequested returns what all pods of a Workload ask for, by LimitRanges and RuntimeClass. At most one pod set may be
// reduced.
func (c *requestCalculator) computeRequested(wl *kueue.Workload) *requestedPodSets {
	out := &requestedPodSets{podSets: make([]admission.PodSet, 0, len(wl.Spec.PodSets))}
	var problems podrequests.Problems
	reducible := !c.opts.PartialAdmission
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		set := convertPodSet(ps)
		if !reducible && ps.MinCount != nil && *ps.MinCount < ps.Count {
			set.MinCount, reducible = *ps.MinCount, true // Only one may have it.
		}
		in := podrequests.Context{
			LimitRanges: c.limitRanges[wl.Namespace],
			Path:        field.NewPath("spec", "podSets").Index(i).Child("template", "spec"),
		}
		if class := ps.Template.Spec.RuntimeClassName; class != nil {
			in.RuntimeClass = c.runtimeClasses[*class]
		}
		var found podrequests.Problems
		set.Requests, found = c.opts.PodRequests.Compute(&ps.Template.Spec, in)
		problems.Add(found)
		out.podSets = append(out.podSets, set)
	}
	out.problem = problems.Message()
	return out
}

// remaining are the pod sets with the counts that still need quota (contract: kueue-api.md 4.16).
func (a *requestedPodSets) remaining(wl *kueue.Workload, o Options) []admission.PodSet {
	if len(wl.Status.ReclaimablePods) == 0 || o.WithoutReclaimablePods {
		return a.podSets
	}
	sets := slices.Clone(a.podSets)
	for i := range sets {
		gone := o.reclaimablePods(wl, kueue.PodSetReference(sets[i].Name))
		sets[i].Count = max(sets[i].Count-gone, 0)
		if sets[i].MinCount > 0 {
			sets[i].MinCount = max(sets[i].MinCount-gone, 1)
		}
		if sets[i].MinCount >= sets[i].Count {
			sets[i].MinCount = 0
		}
	}
	return sets
}

// sameSpec tells whether two versions of a workload ask for the same. The API server counts changes of the spec.
func sameSpec(a, b *kueue.Workload) bool {
	if sameBackingArray(a.Spec.PodSets, b.Spec.PodSets) {
		return true
	}
	if a.Generation != 0 && b.Generation != 0 {
		return a.Generation == b.Generation
	}
	return reflect.DeepEqual(a.Spec.PodSets, b.Spec.PodSets)
}

func sameBackingArray(a, b []kueue.PodSet) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// BuildPodSetRequests is what the pod sets ask for in all, as status.resourceRequests has it (contract: kueue-api.md 1.2).
func BuildPodSetRequests(sets []admission.PodSet) []kueue.PodSetRequest {
	out := make([]kueue.PodSetRequest, 0, len(sets))
	for i := range sets {
		out = append(out, kueue.PodSetRequest{
			Name: kueue.PodSetReference(sets[i].Name), Resources: podrequests.ToResourceList(sets[i].Requests.Times(int64(sets[i].Count))),
		})
	}
	return out
}

// setLimitRange takes a LimitRange in. A changed spec recomputes the requests of its namespace.
func (v *View) setLimitRange(lr *corev1.LimitRange) {
	ranges := v.requests.limitRanges[lr.Namespace]
	at, found := slices.BinarySearchFunc(ranges, lr.Name, func(l *corev1.LimitRange, name string) int { return cmp.Compare(l.Name, name) })
	switch {
	case !found:
		v.requests.limitRanges[lr.Namespace] = slices.Insert(ranges, at, lr)
	case reflect.DeepEqual(ranges[at].Spec, lr.Spec):
		return
	default:
		ranges[at] = lr
	}
	v.recomputeRequestsInNamespace(lr.Namespace)
}

func (v *View) deleteLimitRange(lr *corev1.LimitRange) {
	left := slices.DeleteFunc(v.requests.limitRanges[lr.Namespace], func(l *corev1.LimitRange) bool { return l.Name == lr.Name })
	v.requests.limitRanges[lr.Namespace] = left
	if len(left) == 0 {
		delete(v.requests.limitRanges, lr.Namespace)
	}
	v.recomputeRequestsInNamespace(lr.Namespace)
}

// recomputeRequestsInNamespace recomputes the requests of all workloads of a namespace.
func (v *View) recomputeRequestsInNamespace(namespace string) {
	clear(v.requests.cache)
	for key := range v.workloadsByLocalQueue {
		if key.Namespace == namespace {
			for _, w := range v.workloadsByLocalQueue[key] {
				v.recomputeRequests(w)
			}
		}
	}
}

func (v *View) setRuntimeClass(c *nodev1.RuntimeClass) {
	was := v.requests.runtimeClasses[c.Name]
	v.requests.runtimeClasses[c.Name] = c
	if was == nil || !reflect.DeepEqual(was.Overhead, c.Overhead) {
		v.recomputeRequestsForClass(c.Name)
	}
}

func (v *View) deleteRuntimeClass(c *nodev1.RuntimeClass) {
	delete(v.requests.runtimeClasses, c.Name)
	v.recomputeRequestsForClass(c.Name)
}

// recomputeRequestsForClass recomputes the requests of workloads that name a RuntimeClass.
func (v *View) recomputeRequestsForClass(class string) {
	clear(v.requests.cache)
	for _, w := range v.workloadsByRuntimeClass[class] {
		v.recomputeRequests(w)
	}
}

func (v *View) recomputeRequests(w *workload) {
	w.requested = nil
	v.syncWorkload(w)
}
