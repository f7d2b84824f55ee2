package resourcequota

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/podrequests"
)

// podDefaults is what the cluster adds to pods that are made in a namespace.
type podDefaults struct {
	limitRanges    []*corev1.LimitRange
	runtimeClasses []nodev1.RuntimeClass
	// priorityClass of pods that name none; empty for none.
	priorityClass string
	// withoutReclaimable has every admitted pod be claimed until its Workload ends, see Reader.
	withoutReclaimable bool
}

func (r Reader) readPodDefaults(ctx context.Context, namespace string) (podDefaults, error) {
	p := podDefaults{withoutReclaimable: r.WithoutReclaimablePods}
	limits := &corev1.LimitRangeList{}
	runtimes := &nodev1.RuntimeClassList{}
	classes := &schedulingv1.PriorityClassList{}
	for _, read := range []func() error{
		func() error { return r.Cached.List(ctx, limits, client.InNamespace(namespace)) },
		func() error { return r.Cached.List(ctx, runtimes) },
		func() error { return r.Cached.List(ctx, classes) },
	} {
		if err := read(); err != nil {
			return podDefaults{}, fmt.Errorf("read what is added to pods: %w", err)
		}
	}
	for i := range limits.Items {
		p.limitRanges = append(p.limitRanges, &limits.Items[i])
	}
	slices.SortFunc(p.limitRanges, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	p.runtimeClasses, p.priorityClass = runtimes.Items, defaultPriorityClass(classes.Items)
	return p, nil
}

// defaultPriorityClass is the class that pods get which name none: of several defaults the one with the lowest value.
func defaultPriorityClass(classes []schedulingv1.PriorityClass) string {
	defaults := slices.DeleteFunc(slices.Clone(classes), func(c schedulingv1.PriorityClass) bool { return !c.GlobalDefault })
	if len(defaults) == 0 {
		return ""
	}
	return slices.MinFunc(defaults, func(a, b schedulingv1.PriorityClass) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	}).Name
}

// buildClaim is all that a Workload with a reservation may create: the pods that were admitted and are still needed, and its
// Job where that is still to come.
func (p podDefaults) buildClaim(wl *kueue.Workload) quotafit.Claim {
	claim := quotafit.Claim{Objects: toVector(pendingJobs(wl))}
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		spec := &ps.Template.Spec
		pods := describePods(spec, int64(p.claimedPods(wl, ps)), podrequests.Context{LimitRanges: p.limitRanges, RuntimeClass: p.lookupRuntimeClass(spec)})
		if pods.PriorityClass == "" {
			pods.PriorityClass = p.priorityClass
		}
		claim.Pods = append(claim.Pods, pods)
	}
	return claim
}

func (p podDefaults) lookupRuntimeClass(spec *corev1.PodSpec) *nodev1.RuntimeClass {
	i := slices.IndexFunc(p.runtimeClasses, func(c nodev1.RuntimeClass) bool { return c.Name == ptr.Deref(spec.RuntimeClassName, "") })
	if i < 0 {
		return nil
	}
	return &p.runtimeClasses[i]
}

// claimedPods is how many pods of the set may still be: no more than were admitted, and none that will not be made again.
func (p podDefaults) claimedPods(wl *kueue.Workload, ps *kueue.PodSet) int32 {
	count := ps.Count
	for _, gone := range wl.Status.ReclaimablePods {
		if gone.Name == ps.Name && !p.withoutReclaimable {
			count -= gone.Count
		}
	}
	for _, a := range wl.Status.Admission.PodSetAssignments {
		if a.Name == ps.Name {
			count = min(count, ptr.Deref(a.Count, count))
		}
	}
	return max(count, 0)
}

// pendingJobs is the Job that a Workload still has to get. As a rule a Workload is made from its Job, which then counts already.
// A hub's copy comes before its job; its name begins with the job's kind (contract: kueue-api.md 2.6).
func pendingJobs(wl *kueue.Workload) corev1.ResourceList {
	copied := wl.Labels[kueue.MultiKueueOriginLabel] != "" && len(wl.OwnerReferences) == 0
	kind := batchv1.SchemeGroupVersion.WithKind("Job")
	if !copied || wl.Annotations[kueue.JobOwnerGVKAnnotation] != kind.String() && !strings.HasPrefix(wl.Name, "job-") {
		return nil
	}
	return corev1.ResourceList{"count/jobs.batch": oneUnit()}
}
