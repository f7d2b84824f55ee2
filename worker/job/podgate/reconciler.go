package podgate

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch

// jobIndex finds the slices and the pods of an elastic job by the job's UID.
const jobIndex = "switchyard.elastic-job"

// Reconciler lets the pods of one elastic job go, as many as have been admitted.
type Reconciler struct {
	// Client reads Workloads and writes pods.
	Client client.Client
	// Pods reads the pods of elastic jobs.
	Pods client.Reader
	// Clock is the source of now.
	Clock clock.PassiveClock
	// Ungated, optional, is told of each gate that is taken off a pod.
	Ungated func(slice *kueue.Workload, gate string, now time.Time)

	// written are the pods that were let go and that the cache shows as they were.
	written kube.WriteTracker
	trusted trustedSlices
}

// New returns a reconciler that has yet to be set up.
func New(c clock.PassiveClock) *Reconciler {
	return &Reconciler{Clock: c, trusted: trustedSlices{news: make(chan event.GenericEvent, maxNews)}}
}

// Reconcile looks at the pods of one elastic job, which the request names by its UID.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var list kueue.WorkloadList
	if err := r.Client.List(ctx, &list, client.InNamespace(req.Namespace), client.MatchingFields{jobIndex: req.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the slices of the job %s: %w", req, err)
	}
	if len(list.Items) == 0 {
		r.trusted.forget(types.UID(req.Name))
	}
	wl := r.trusted.among(types.UID(req.Name), list.Items)
	if wl == nil || !isAdmitted(wl) {
		return ctrl.Result{}, nil
	}
	granted, err := grants(wl)
	if err != nil {
		return ctrl.Result{}, err
	}
	sets, err := r.podsByPodSet(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	var failed *multierror.Error
	for name, pods := range sets {
		for _, pod := range pick(pods, granted[name]) {
			failed = multierror.Append(failed, r.release(ctx, wl, pod, granted[name]))
		}
	}
	return ctrl.Result{}, failed.ErrorOrNil()
}

// podsByPodSet reads the pods of the job. One that we have let go counts as such before the cache shows it.
func (r *Reconciler) podsByPodSet(ctx context.Context, job types.NamespacedName) (map[string][]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Pods.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingFields{jobIndex: job.Name}); err != nil {
		return nil, fmt.Errorf("list the pods of the job %s: %w", job, err)
	}
	sets := map[string][]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		if r.written.IsNewerThan(pod, r.Clock.Now()) {
			pod.Spec.SchedulingGates = nil
		}
		name := pod.Labels[kueue.PodSetLabel]
		sets[name] = append(sets[name], pod)
	}
	return sets, nil
}

// Running implements job.ElasticPods.
func (r *Reconciler) Running(ctx context.Context, namespace string, job types.UID) (map[string]int32, error) {
	sets, err := r.podsByPodSet(ctx, types.NamespacedName{Namespace: namespace, Name: string(job)})
	if err != nil {
		return nil, err
	}
	counts := map[string]int32{}
	for name, pods := range sets {
		for _, pod := range pods {
			if isRunning(pod) {
				counts[name]++
			}
		}
	}
	return counts, nil
}

// Trust implements job.ElasticPods.
func (r *Reconciler) Trust(ctx context.Context, slice *kueue.Workload) { r.trusted.add(ctx, slice) }

// release lets one pod of a slice go. If it has changed, or is gone, its own event brings another look.
func (r *Reconciler) release(ctx context.Context, slice *kueue.Workload, pod *corev1.Pod, g grant) error {
	free := g.release(pod)
	_, err := kube.Patch(ctx, r.Client, pod, free)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("let pod %s/%s go: %w", pod.Namespace, pod.Name, err)
	}
	r.written.Record(free, r.Clock.Now())
	if r.Ungated != nil {
		r.Ungated(slice, kueue.ElasticJobSchedulingGate, r.Clock.Now())
	}
	return nil
}
