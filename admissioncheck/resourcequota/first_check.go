package resourcequota

import (
	"context"
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// watchFirstCheck returns a channel that is closed as soon as the cache shows an AdmissionCheck that is answered here.
func watchFirstCheck(ctx context.Context, informers cache.Informers) (<-chan struct{}, error) {
	informer, err := informers.GetInformer(ctx, &kueue.AdmissionCheck{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("get informer of AdmissionChecks: %w", err)
	}
	seen := make(chan struct{})
	first := sync.OnceFunc(func() { close(seen) })
	look := func(obj any) {
		if check, ok := obj.(*kueue.AdmissionCheck); ok && check.Spec.ControllerName == ControllerName {
			first()
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: look, UpdateFunc: func(_, is any) { look(is) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch AdmissionChecks: %w", err)
	}
	return seen, nil
}

// runWhenClosed runs begin once the channel is closed, unless the context ends before.
func runWhenClosed(ctx context.Context, seen <-chan struct{}, begin func(context.Context) error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-seen:
		return begin(ctx)
	}
}
