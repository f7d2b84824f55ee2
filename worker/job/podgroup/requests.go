package podgroup

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/podgroup/podmeta"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

const (
	// groupPrefix, before a namespace, marks the key of a group (contract: job-kinds.md 10.5).
	groupPrefix = "group/"
	// batchInterval is how long events of a group's pods are collected before the group is looked at. A look costs as much as the group
	// has pods, so there must not be one for each of their events.
	batchInterval = 250 * time.Millisecond

	// ownerIndex finds Workloads by the pod that controls them.
	ownerIndex = "switchyard.owner.Pod"
	// workloadIndex finds pods by what names their Workload: their group, or the prebuilt Workload of a single pod.
	workloadIndex  = "switchyard.pod.workload"
	groupValue     = "group/"
	prebuiltsValue = "prebuilt/"
)

// unit is what has one Workload: a pod or a group of pods.
type unit struct {
	group           bool
	namespace, name string
}

func unitOf(pod *corev1.Pod, gates job.Gates) unit {
	if group := podmeta.GroupName(pod, gates); group != "" {
		return unit{true, pod.Namespace, group}
	}
	return unit{false, pod.Namespace, pod.Name}
}

// request is the unit as the controller knows it.
func (u unit) request() reconcile.Request {
	namespace := u.namespace
	if u.group {
		namespace = groupPrefix + namespace
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: u.name}}
}

func parseRequest(r reconcile.Request) unit {
	namespace, group := strings.CutPrefix(r.Namespace, groupPrefix)
	return unit{group, namespace, r.Name}
}

// ownerIndexValues is the pod that controls a Workload.
func ownerIndexValues(wl client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(wl); ref != nil && ref.APIVersion == "v1" && ref.Kind == "Pod" {
		return []string{ref.Name}
	}
	return nil
}

// workloadIndexValues names the Workload of a pod where the pod does.
func workloadIndexValues(gates job.Gates) client.IndexerFunc {
	return kube.TypedIndexer(func(pod *corev1.Pod) []string {
		if group := podmeta.GroupName(pod, gates); group != "" {
			return []string{groupValue + group}
		}
		if prebuilt := gates.PrebuiltWorkloadName(pod); prebuilt != "" {
			return []string{prebuiltsValue + prebuilt}
		}
		return nil
	})
}

// podEvents asks for a look at the pod, or at its group a little later: then it is for all that happened meanwhile. What an event costs
// does not depend on how large the group is.
func (r *reconciler) podEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(q queue, objects ...client.Object) {
		for _, object := range objects {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				continue
			}
			if u := unitOf(pod, r.opts.Gates); u.group {
				q.AddAfter(u.request(), batchInterval)
			} else {
				q.Add(u.request())
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			was, ok := e.ObjectOld.(*corev1.Pod)
			is, ok2 := e.ObjectNew.(*corev1.Pod)
			switch {
			case !ok || !ok2 || isSame(was, is):
			case unitOf(was, r.opts.Gates) == unitOf(is, r.opts.Gates):
				enqueue(q, is)
			default:
				enqueue(q, was, is)
			}
		},
	}
}

// isSame tells whether nothing has changed that decides anything.
func isSame(was, is *corev1.Pod) bool {
	a, b := *was, *is
	a.Status, b.Status = stripStatus(was.Status.DeepCopy()), stripStatus(is.Status.DeepCopy())
	a.ResourceVersion, b.ResourceVersion = "", ""
	return was.ResourceVersion != is.ResourceVersion && equality.Semantic.DeepEqual(&a, &b)
}

// requestsForWorkload returns what a Workload stands for, or those that wait for it.
func (r *reconciler) requestsForWorkload(ctx context.Context, object client.Object) []reconcile.Request {
	wl, ok := object.(*kueue.Workload)
	if !ok {
		return nil
	}
	if names := ownerIndexValues(wl); len(names) > 0 {
		return []reconcile.Request{unit{false, wl.Namespace, names[0]}.request()}
	}
	group := unit{true, wl.Namespace, wl.Name}
	if workload.HasPodOwners(wl) {
		return []reconcile.Request{group.request()}
	}
	var requests []reconcile.Request
	if len(r.listPods(ctx, wl.Namespace, groupValue+wl.Name, client.Limit(1))) > 0 {
		requests = append(requests, group.request())
	}
	pods := r.listPods(ctx, wl.Namespace, prebuiltsValue+wl.Name)
	for i := range pods {
		requests = append(requests, unitOf(&pods[i], r.opts.Gates).request())
	}
	return requests
}

// listPods lists pods by the index, to be read only. An error of the cache is logged: there are none then.
func (r *reconciler) listPods(ctx context.Context, namespace, value string, o ...client.ListOption) []corev1.Pod {
	list := &corev1.PodList{}
	o = append(o, client.InNamespace(namespace), client.MatchingFields{workloadIndex: value}, client.UnsafeDisableDeepCopy)
	if err := r.pods.List(ctx, list, o...); err != nil {
		log.FromContext(ctx).Error(err, "List pods by their workload", "value", value)
	}
	return list.Items
}

// checkMessages lets every event pass, and tells the pods' readers what admission checks have to say about their Workload.
func (r *reconciler) checkMessages() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*kueue.Workload)
		is, ok2 := e.ObjectNew.(*kueue.Workload)
		if !ok || !ok2 || !workload.HasPodOwners(is) {
			return true
		}
		ref := is.OwnerReferences[0]
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind}}
		pod.Namespace, pod.Name, pod.UID = is.Namespace, ref.Name, ref.UID
		kube.RecordEvents(r.recorder, pod, job.AdmissionCheckEvents(was, is)...)
		return true
	}}
}
