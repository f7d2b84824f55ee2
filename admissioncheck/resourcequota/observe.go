package resourcequota

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	"switchyard.dev/admissioncheck/runner"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=limitranges,verbs=list;watch
// +kubebuilder:rbac:groups=node.k8s.io,resources=runtimeclasses,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=list;watch

// Reader reads what a decision needs. What must not be too old is read from the API server itself: the use of a quota grows
// before a pod is stored, so that a caller that has seen the pods and reads the quota afterwards misses none.
type Reader struct {
	Cached, Live client.Reader
	// WithoutReclaimablePods ignores status.reclaimablePods, as the admission core does (gate ReclaimablePods off; contract:
	// messages.md 5.5): a job may make those pods again.
	WithoutReclaimablePods bool
}

// Observed is what the check looks at.
type Observed struct {
	quotafit.Observation
	// podSetUpdates are put on the pods of a Workload that is let pass.
	podSetUpdates []kueue.PodSetUpdate
}

// observe reads as little as will do. First it takes it that none of the promised pods exists. Only if there is no room
// then does it look for pods, and then reads the quotas again, which have to be younger than the pods.
func (r Reader) observe(ctx context.Context, s runner.CheckScope) (Observed, error) {
	o := Observed{Observation: quotafit.Observation{
		Now: s.Now, ReservedAt: reservedAt(s.Workload), Retries: ptr.Deref(s.Entry.RetryCount, 0),
		Passed: s.Entry.State == kueue.CheckStateReady,
	}}
	if o.Passed {
		return o, nil
	}
	o.podSetUpdates = claimLabelUpdates(s.Workload)
	var err error
	if o.Quotas, err = r.listQuotas(ctx, s.Workload.Namespace); err != nil || len(o.Quotas) == 0 {
		return o, err
	}
	claims, err := r.readClaims(ctx, s, &o)
	if err != nil || len(claims) == 0 || !exceedsQuota(o) {
		return o, err
	}
	existing, err := r.countPods(ctx, s.Workload.Namespace)
	if err != nil {
		return o, err
	}
	for i, c := range claims {
		o.InFlight[i] = c.claim.WithoutExisting(existing.forWorkload(c.workload))
	}
	o.Quotas, err = r.listQuotas(ctx, s.Workload.Namespace)
	return o, err
}

func exceedsQuota(o Observed) bool {
	return quotafit.Decide(o.Observation, policy).State != quotafit.Ready
}

// passedClaim is the claim of a Workload that was let pass.
type passedClaim struct {
	workload *kueue.Workload
	claim    quotafit.Claim
}

// readClaims fills in what the Workload asks, and what others were promised, as if nothing of it existed.
func (r Reader) readClaims(ctx context.Context, s runner.CheckScope, o *Observed) ([]passedClaim, error) {
	passed, err := s.ListPassed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := r.readPodDefaults(ctx, s.Workload.Namespace)
	if err != nil {
		return nil, err
	}
	o.Requested = p.buildClaim(s.Workload)
	var claims []passedClaim
	for _, wl := range passed {
		claim := p.buildClaim(wl)
		claims = append(claims, passedClaim{workload: wl, claim: claim})
		o.InFlight = append(o.InFlight, claim)
	}
	return claims, nil
}

func (r Reader) listQuotas(ctx context.Context, namespace string) ([]quotafit.Quota, error) {
	list := &corev1.ResourceQuotaList{}
	if err := r.Live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list ResourceQuotas: %w", err)
	}
	return convertQuotas(list.Items), nil
}

func reservedAt(wl *kueue.Workload) (at time.Time) {
	if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
		at = c.LastTransitionTime.Time
	}
	return at
}

// claimLabelUpdates has an update for every pod set: the label by which its pods are found.
func claimLabelUpdates(wl *kueue.Workload) []kueue.PodSetUpdate {
	var marks []kueue.PodSetUpdate
	for i := range wl.Spec.PodSets {
		marks = append(marks, kueue.PodSetUpdate{
			Name: wl.Spec.PodSets[i].Name, Labels: map[string]string{ClaimLabel: string(wl.UID)},
		})
	}
	return marks
}

// podCounts are how many pods exist, by the UID of their Workload and their pod set.
type podCounts map[[2]string]int64

// forWorkload returns the counts of a Workload by position of the pod set.
func (p podCounts) forWorkload(wl *kueue.Workload) []int64 {
	counts := make([]int64, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		counts[i] = p[[2]string{string(wl.UID), string(wl.Spec.PodSets[i].Name)}]
	}
	return counts
}

// countPods counts the pods that were let pass here and have not ended, which is what quotas count.
func (r Reader) countPods(ctx context.Context, namespace string) (podCounts, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	alive := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
	err := r.Live.List(ctx, list, client.InNamespace(namespace), client.HasLabels{ClaimLabel}, client.MatchingFieldsSelector{Selector: alive})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	counts := podCounts{}
	for i := range list.Items {
		labels := list.Items[i].Labels
		counts[[2]string{labels[ClaimLabel], labels[kueue.PodSetLabel]}]++
	}
	return counts, nil
}
