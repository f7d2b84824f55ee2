package leaderworkerset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// maxControllers is how many controllers there are above a pod: its StatefulSet, the leader, the leader's StatefulSet, the set.
const maxControllers = 4

// controllers finds what controls pods, each object once. What the cache does not have is looked for in the API server: absence from a
// cache is no evidence.
type controllers struct {
	cached, live client.Reader
	found        map[metav1.OwnerReference]client.Object
}

func newControllers(cached, live client.Reader) *controllers {
	return &controllers{cached: cached, live: live, found: map[metav1.OwnerReference]client.Object{}}
}

// above returns the controller of an object; nil if it is gone, or another object has its name. known is false if the object has no
// controller, or one of a kind that is never above pods of a LeaderWorkerSet.
func (c *controllers) above(ctx context.Context, of client.Object) (controller client.Object, known bool, err error) {
	ref := metav1.GetControllerOf(of)
	if ref == nil {
		return nil, false, nil
	}
	obj := newController(*ref)
	if obj == nil {
		return nil, false, nil
	}
	ref.Controller, ref.BlockOwnerDeletion = nil, nil // pointers are no part of a key
	if obj, looked := c.found[*ref]; looked {
		return obj, true, nil
	}
	key := types.NamespacedName{Namespace: of.GetNamespace(), Name: ref.Name}
	err = c.cached.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) || err == nil && obj.GetUID() != ref.UID {
		err = c.live.Get(ctx, key, obj)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, true, fmt.Errorf("get %s %s: %w", ref.Kind, key, err)
	}
	if err != nil || obj.GetUID() != ref.UID {
		obj = nil
	}
	c.found[*ref] = obj
	return obj, true, nil
}

// newController returns an empty object of the kind that a reference leads to; nil if it is none of those above pods.
func newController(ref metav1.OwnerReference) client.Object {
	switch ref.APIVersion + " " + ref.Kind {
	case "v1 Pod":
		return &corev1.Pod{}
	case appsv1.SchemeGroupVersion.String() + " StatefulSet":
		return &appsv1.StatefulSet{}
	case lwsv1.GroupVersion.String() + " " + gvk().Kind:
		return &lwsv1.LeaderWorkerSet{}
	}
	return nil
}

// isAbandoned tells whether something above the pod is gone, so that the garbage collector is going to delete the pod. One that was
// orphaned on purpose stays, and so it waits.
func (c *controllers) isAbandoned(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var obj client.Object = pod
	for range maxControllers {
		above, known, err := c.above(ctx, obj)
		if err != nil || !known || above == nil {
			return err == nil && known, err
		}
		obj = above
	}
	return false, nil
}

// isReplaced tells whether a rollout of the pod's StatefulSet is going to replace it. That is asked of the API server, if the cache says
// so: by then it may be another rollout.
func (c *controllers) isReplaced(ctx context.Context, pod *corev1.Pod) (bool, error) {
	above, _, err := c.above(ctx, pod)
	set, ok := above.(*appsv1.StatefulSet)
	if err != nil || !ok || !serving.IsOutdated(set, pod) {
		return false, err
	}
	stored := &appsv1.StatefulSet{}
	err = c.live.Get(ctx, client.ObjectKeyFromObject(set), stored)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return err == nil && stored.UID == set.UID && serving.IsOutdated(stored, pod), nil
}

// elsewhere tells whether a set runs on another cluster, once that was looked at. Its pods wait for ever here.
type elsewhere struct{ looked, is bool }

func (r *reconciler) observeAway(ctx context.Context, s *snapshot, e *elsewhere) error {
	e.looked = true
	for _, wl := range s.workloads {
		away, err := job.IsDispatched(ctx, r.Client, wl)
		if err != nil {
			return err
		}
		e.is = e.is || away && serving.IsOwnedBy(wl, s.set)
	}
	return nil
}

// observePods finds out about each pod that waits whether it is going to be deleted. A rollout replaces groups from the set's partition
// on.
func (r *reconciler) observePods(ctx context.Context, s *snapshot) ([]podFacts, error) {
	above := newControllers(r.Cache, r.Writer.Live)
	facts := make([]podFacts, len(s.pods))
	var away elsewhere
	for i, pod := range s.pods {
		f := podFacts{pod: pod}
		if serving.IsWaiting(pod) {
			var err error
			if f.abandoned, err = above.isAbandoned(ctx, pod); err != nil {
				return nil, err
			}
			if group, known := groupIndex(pod); known && group >= partition(s.set) {
				if f.replaced, err = above.isReplaced(ctx, pod); err != nil {
					return nil, err
				}
				if f.replaced && !away.looked {
					if err := r.observeAway(ctx, s, &away); err != nil {
						return nil, err
					}
				}
				f.replaced = f.replaced && !away.is
			}
		}
		facts[i] = f
	}
	return facts, nil
}
