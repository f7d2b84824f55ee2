package podgate

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeCache is synchronized from its start on.
type fakeCache struct {
	cache.Cache
	indexed bool
	started chan struct{}
}

func (c *fakeCache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	c.indexed = true
	return nil
}

func (c *fakeCache) Start(ctx context.Context) error {
	close(c.started)
	<-ctx.Done()
	return nil
}

func (c *fakeCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *fakeCache) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestPodsAreWatchedFromTheFirstTimeThatTheyAreRead(t *testing.T) {
	fake := &fakeCache{started: make(chan struct{})}
	pods := newPodCache(fake)
	followed := false
	pods.follow = func() error {
		followed = true
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- pods.Start(ctx) }()
	for range 2 {
		if err := pods.List(ctx, &corev1.PodList{}); err != nil {
			t.Fatal(err)
		}
	}
	if !fake.indexed || !followed {
		t.Errorf("indexed: %t, followed: %t", fake.indexed, followed)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPodsThatNobodyReadsAreNotWatched(t *testing.T) {
	fake := &fakeCache{started: make(chan struct{})}
	pods := newPodCache(fake)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- pods.Start(ctx) }()
	cancel()
	if err := <-ended; err != nil || fake.indexed {
		t.Errorf("indexed: %t, error %v", fake.indexed, err)
	}
	if err := pods.List(ctx, &corev1.PodList{}); !errors.Is(err, errNotListed) {
		t.Errorf("read from a cache that has not started: %v", err)
	}
}
