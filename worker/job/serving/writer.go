package serving

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// Writer writes Workloads and pods, and remembers its writes until the cache shows them. Writes fail with a conflict where the object has
// changed since it was read.
type Writer struct {
	// Client writes; Live reads what is stored.
	Client client.Client
	Live   client.Reader
	// Clock is the source of now.
	Clock clock.PassiveClock

	written kube.WriteTracker
}

// IsBehind tells whether the cache shows the object as it was before the last write.
func (w *Writer) IsBehind(cached client.Object) bool {
	return w.written.IsNewerThan(cached, w.Clock.Now())
}

// Patch writes metadata and spec. An object that is gone needs no change any more.
func (w *Writer) Patch(ctx context.Context, before, after client.Object) error {
	_, err := w.written.Patch(ctx, w.Client, before, after, w.Clock.Now())
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %T %s/%s: %w", before, before.GetNamespace(), before.GetName(), err)
	}
	return nil
}

// ChangePod carries out what is to be done to a pod.
func (w *Writer) ChangePod(ctx context.Context, c *PodChange) error {
	pod := c.Pod
	if c.Joined != nil {
		if err := w.Patch(ctx, pod, c.Joined); err != nil {
			return err
		}
		pod = c.Joined
	}
	if !c.Ungate {
		return nil
	}
	return w.Patch(ctx, pod, Ungate(pod))
}

// ApplyAdmission writes the admission part of the Workload's status.
func (w *Writer) ApplyAdmission(ctx context.Context, wl *kueue.Workload) error {
	if err := kube.ApplyAdmission(ctx, w.Client, wl); err != nil {
		return err
	}
	w.written.Record(wl, w.Clock.Now())
	return nil
}

// Create makes a Workload for its owner and reports whether it did. One that is there and is the owner's was made a moment ago, and the
// cache is behind.
func (w *Writer) Create(ctx context.Context, wl *kueue.Workload, owner client.Object) (bool, error) {
	err := w.Client.Create(ctx, wl.DeepCopy())
	if err == nil {
		return true, nil
	}
	if apierrors.IsAlreadyExists(err) {
		stored := &kueue.Workload{}
		if w.Live.Get(ctx, client.ObjectKeyFromObject(wl), stored) == nil && IsOwnedBy(stored, owner) {
			return false, nil
		}
	}
	return false, fmt.Errorf("create workload %s/%s: %w", wl.Namespace, wl.Name, err)
}

// Delete deletes a Workload as it was seen.
func (w *Writer) Delete(ctx context.Context, wl *kueue.Workload) error {
	seen := client.Preconditions{UID: &wl.UID, ResourceVersion: &wl.ResourceVersion}
	err := w.Client.Delete(ctx, wl.DeepCopy(), seen)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete workload %s/%s: %w", wl.Namespace, wl.Name, err)
	}
	return nil
}

// LetGo allows the API server to remove a Workload that is being deleted.
func (w *Writer) LetGo(ctx context.Context, wl *kueue.Workload) error {
	free := wl.DeepCopy()
	controllerutil.RemoveFinalizer(free, kueue.ResourceInUseFinalizer)
	return w.Patch(ctx, wl, free)
}
