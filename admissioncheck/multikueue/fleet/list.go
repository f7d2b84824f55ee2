package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

const (
	// pageSize is how many objects are listed at a time; a page that is too large is asked for again with fewer.
	pageSize = 100
	// maxPages is how many pages a list may have.
	maxPages = 10000
	// pageTimeout is how long one page may take.
	pageTimeout = time.Minute
	// maxConcurrentLists is how many lists of one cluster are read at a time.
	maxConcurrentLists = 2
)

// lister lists the objects of one kind on one cluster, page by page, and keeps of each page no more than the hub does.
type lister struct {
	client   client.WithWatch
	kind     WatchedKind
	selector labels.Selector
	// slots bound the lists that are read at a time.
	slots chan struct{}
	// checkMemoryLimit says whether so much, in bytes, is too much to be kept.
	checkMemoryLimit func(kept int64) error
}

// list returns all objects, as an informer wants them. It asks for the newest version, because a server answers all at once
// if any version will do.
func (l lister) list(ctx context.Context) (runtime.Object, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other lists: %w", context.Cause(ctx))
	}
	whole, size := l.kind.NewList(), int64(pageSize)
	var objects []runtime.Object
	var kept int64
	for range maxPages {
		page, fewer, err := l.listPage(ctx, whole.GetContinue(), size)
		if err != nil {
			return nil, err
		}
		size = fewer
		found, err := meta.ExtractListWithAlloc(page)
		if err != nil {
			return nil, fmt.Errorf("read a list of %s: %w", l.kind.GVK.Kind, err)
		}
		for _, item := range found {
			l.kind.strip(item)
			kept += memorySize(item)
		}
		if err := l.checkMemoryLimit(kept); err != nil {
			return nil, err
		}
		objects = append(objects, found...)
		whole.SetResourceVersion(page.GetResourceVersion())
		whole.SetContinue(page.GetContinue())
		if page.GetContinue() == "" {
			return whole, meta.SetList(whole, objects)
		}
	}
	return nil, wire.Exceeded("a list of %s has more than %d pages", l.kind.GVK.Kind, maxPages)
}

// listPage lists at most the given number of objects, and fewer if they are too large; it returns how many were asked for.
func (l lister) listPage(ctx context.Context, from string, size int64) (client.ObjectList, int64, error) {
	for {
		page := l.kind.NewList()
		err := l.requestPage(ctx, page, from, size)
		if err == nil || size == 1 || !errors.Is(err, wire.ErrExceeded) {
			return page, size, err
		}
		size = max(size/8, 1)
	}
}

// requestPage reads one page of a list. One that exceeds a bound is asked for again with fewer objects, so that only a page
// of one object is an offence.
func (l lister) requestPage(ctx context.Context, page client.ObjectList, from string, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	if size > 1 {
		ctx = wire.Tentative(ctx)
	}
	return l.client.List(ctx, page, &client.ListOptions{
		LabelSelector: l.selector, Limit: size, Continue: from, Raw: &metav1.ListOptions{},
	})
}

// strip removes from an object what no reader of the cache needs.
func (k WatchedKind) strip(obj any) {
	if o, ok := obj.(client.Object); ok {
		o.SetManagedFields(nil)
		if k.Strip != nil {
			k.Strip(o)
		}
	}
}

// listLimiter lets few clusters at a time list what they hold. A hub that starts decodes everything there is on all of them; side by
// side, all would be complete at the very end, and take each other for dead meanwhile.
type listLimiter chan struct{}

const (
	// maxListingClusters is how many list at a time; headStart is after how long one makes room for the next, complete or not.
	maxListingClusters = 8
	listSlotTimeout    = 3 * time.Second
)

func newListLimiter() listLimiter { return make(listLimiter, maxListingClusters) }

// acquire waits for its turn and returns what ends it, which may be called again. Credentials that change meanwhile end the wait.
func (e listLimiter) acquire(ctx context.Context, renew <-chan struct{}, c clock.WithDelayedExecution) (leave func(), err error) {
	select {
	case e <- struct{}{}:
	case <-renew:
		return nil, errCredentialsChanged
	case <-ctx.Done():
		return nil, fmt.Errorf("wait until other clusters are listed: %w", context.Cause(ctx))
	}
	once := sync.OnceFunc(func() { <-e })
	timer := c.AfterFunc(listSlotTimeout, once)
	return func() { timer.Stop(); once() }, nil
}
