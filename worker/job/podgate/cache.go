package podgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listTimeout bounds how long a reader waits for the first list of pods.
const listTimeout = 10 * time.Second

// errNotListed tells that the API server has not listed the pods of elastic jobs yet.
var errNotListed = errors.New("the pods of elastic jobs are not listed yet")

// podCache has the pods of elastic jobs. It watches them from the first time on that somebody lists them: where no job is elastic there is no
// watch.
type podCache struct {
	cache.Cache
	// follow is called once, before the pods are watched.
	follow func() error

	once   sync.Once
	wanted chan struct{}
}

func newPodCache(c cache.Cache) *podCache { return &podCache{Cache: c, wanted: make(chan struct{})} }

// Start implements manager.Runnable.
func (p *podCache) Start(ctx context.Context) error {
	select {
	case <-p.wanted:
	case <-ctx.Done():
		return nil
	}
	if err := p.IndexField(ctx, &corev1.Pod{}, jobIndex, jobOfPod); err != nil {
		return fmt.Errorf("index pods by their jobs: %w", err)
	}
	if err := p.follow(); err != nil {
		return fmt.Errorf("follow the pods of elastic jobs: %w", err)
	}
	return p.Cache.Start(ctx)
}

// List implements client.Reader. It waits for the pods to be there.
func (p *podCache) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	p.once.Do(func() { close(p.wanted) })
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if !p.WaitForCacheSync(within) {
		return errNotListed
	}
	return p.Cache.List(ctx, list, o...)
}
