package guard

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// waitIndex is the index of the jobs that wait for their controllers; all of them are under anyWait.
const (
	waitIndex = "fence.wait"
	anyWait   = "*"
)

// FollowedKinds are the kinds of job that the program's cache shows. The fence looks at no others. The zero Kinds are none.
type FollowedKinds struct {
	mu    sync.Mutex
	kinds []job.Integration
}

// Follow has the fence look at jobs of the kind too. It has to be called before the cache shows any.
func (k *FollowedKinds) Follow(indexer client.FieldIndexer, kind job.Integration) error {
	if err := indexer.IndexField(context.Background(), kind.New(), waitIndex, waitIndexer(kind)); err != nil {
		return fmt.Errorf("index %s by what it waits for: %w", kind.Name(), err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kinds = append(k.kinds, kind)
	return nil
}

func (k *FollowedKinds) list() []job.Integration {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.kinds)
}

// waitIndexer are the values of the index for a job.
func waitIndexer(kind job.Integration) client.IndexerFunc {
	return func(obj client.Object) []string {
		if reaction, _ := kind.ExpectedReaction(obj); reaction != "" {
			return []string{anyWait}
		}
		return nil
	}
}
