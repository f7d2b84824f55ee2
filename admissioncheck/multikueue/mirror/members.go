package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/wire"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// Of some kinds a Workload has any number of objects. To the dispatcher they are one job: it is there as long as one of them is, and of the
// lowest epoch of all.

const (
	// callsAtOnce is how many calls about members are under way at a time.
	callsAtOnce = 8
	// pageSize is how many are listed at a time.
	pageSize = 100
)

func (o Original) hasMembers() bool { return o.Kind != nil && job.HasMembers(o.Kind) }

// FirstMember is the one of a worker's objects that stands for all: of the lowest epoch, by name. One that is not ours stands for them only
// if none is. Nil if there are none.
func (o Original) FirstMember(members []client.Object) client.Object {
	if len(members) == 0 {
		return nil
	}
	foreign := func(m client.Object) int {
		if o.holderOfJob(m) == dispatch.Foreign {
			return 1
		}
		return 0
	}
	return slices.MinFunc(members, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(foreign(a), foreign(b)), cmp.Compare(Epoch(a), Epoch(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// readMember returns what stands for all members on a worker, nil if there is none.
func (o Original) readMember(ctx context.Context, c client.Reader) (client.Object, error) {
	members, err := o.readMembers(ctx, c)
	return o.FirstMember(members), err
}

// readMembers reads the objects on a worker that carry the Workload's name and our origin, and what bears the name of one of the hub's: it may
// have lost our label, or be another's.
func (o Original) readMembers(ctx context.Context, c client.Reader) ([]client.Object, error) {
	members, err := o.listMembers(ctx, c)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, m := range members {
		listed[m.GetName()] = true
	}
	unlisted := slices.DeleteFunc(slices.Clone(o.Members), func(local client.Object) bool { return listed[local.GetName()] })
	var mu sync.Mutex
	err = forEach(ctx, unlisted, func(local client.Object) error {
		there := o.Kind.New()
		if err := c.Get(ctx, client.ObjectKeyFromObject(local), there); err != nil {
			return ignoreMissing(err)
		}
		mu.Lock()
		defer mu.Unlock()
		members = append(members, there)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the copies of the pods of %s: %w", o.Key(), err)
	}
	return members, nil
}

// ignoreMissing returns nil where there is no such object, nor kind.
func ignoreMissing(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// listMembers lists the objects on a worker that carry the Workload's name and our origin, page by page.
func (o Original) listMembers(ctx context.Context, c client.Reader) ([]client.Object, error) {
	var members []client.Object
	for next, size := "", int64(pageSize); ; {
		page := o.Kind.NewList()
		within := ctx
		if size > 1 {
			within = wire.Tentative(ctx)
		}
		err := c.List(within, page, client.InNamespace(o.Workload.Namespace), client.MatchingLabels{kueue.MultiKueueOriginLabel: o.Origin},
			client.Limit(size), client.Continue(next))
		switch {
		case errors.Is(err, wire.ErrExceeded) && size > 1: // anybody there may have put the label on large objects
			size = max(size/8, 1)
			continue
		case meta.IsNoMatchError(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("list the copies of the pods of %s: %w", o.Key(), err)
		}
		err = meta.EachListItem(page, func(item runtime.Object) error {
			if obj, ok := item.(client.Object); ok && o.isNamed(obj) {
				members = append(members, obj)
			}
			return nil
		})
		if next = page.GetContinue(); next == "" || err != nil {
			return members, err
		}
	}
}

// createMembers creates all members on a worker. Several are first tried without effect, so that none runs where one is refused, or where another
// object has the name of one: that is returned as found.
func (o Original) createMembers(ctx context.Context, c client.Client, epoch int64, nameInLabel bool) (other *Found, err error) {
	kind, _ := o.Kind.(job.Membered)
	members := slices.DeleteFunc(slices.Clone(o.Members), func(m client.Object) bool {
		return !m.GetDeletionTimestamp().IsZero() || kind.HasEnded(m) // it ended in an earlier epoch
	})
	if len(members) == 0 {
		return nil, fmt.Errorf("create the copies of the pods of %s: %w", o.Key(), ErrNoJob)
	}
	stages := []client.Client{client.NewDryRunClient(c), c}
	if len(members) == 1 {
		stages = stages[1:]
	}
	for i, stage := range stages {
		last := i == len(stages)-1
		var mu sync.Mutex
		err := forEach(ctx, members, func(m client.Object) error {
			taken, err := o.createMember(ctx, stage, m, epoch, nameInLabel)
			if taken != nil {
				mu.Lock()
				defer mu.Unlock()
				other = &Found{Job: taken}
			}
			if !last && apierrors.IsBadRequest(err) { // a webhook there cannot try
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if other != nil {
			return other, o.readCopy(ctx, c, other)
		}
	}
	return nil, nil
}

// readCopy adds the Workload to what was found.
func (o Original) readCopy(ctx context.Context, c client.Reader, found *Found) error {
	wl := &kueue.Workload{}
	if err := c.Get(ctx, o.Key(), wl); err != nil {
		return client.IgnoreNotFound(err)
	}
	found.Workload = wl
	return nil
}

// createMember creates one member. Another object that has its name is returned.
func (o Original) createMember(ctx context.Context, c client.Client, member client.Object, epoch int64, nameInLabel bool) (taken client.Object, err error) {
	of := o
	of.Job = member
	err = c.Create(ctx, of.JobCopy(epoch, nameInLabel))
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create the copy of pod %s/%s: %w", member.GetNamespace(), member.GetName(), err)
	}
	there := o.Kind.New()
	if err := c.Get(ctx, client.ObjectKeyFromObject(member), there); err != nil {
		return nil, fmt.Errorf("read what has the name of pod %s/%s: %w", member.GetNamespace(), member.GetName(), err)
	}
	if o.holderOfJob(there) == dispatch.Ours && Epoch(there) == epoch {
		return nil, nil
	}
	return there, nil
}

// deleteMembers deletes all members below an epoch. If their run has ended, and that is to be spared, it deletes none and says so. Those that may
// still run go first, each only if it has not changed since: an end that nobody has seen is not lost, because the others stay countable
// until their Workload has ended.
func (o Original) deleteMembers(ctx context.Context, c client.Client, seen Found, r Removal) (spared bool, err error) {
	kind, ok := o.Kind.(job.Membered)
	if !ok {
		return false, nil
	}
	members, err := o.readMembers(ctx, c)
	if err != nil {
		return false, err
	}
	removable := slices.DeleteFunc(members, func(m client.Object) bool { return !isRemovable(o.holderOfJob(m), m, r.BelowEpoch) })
	ours := slices.DeleteFunc(slices.Clone(removable), func(m client.Object) bool { return o.holderOfJob(m) != dispatch.Ours })
	if r.SpareJob && len(ours) > 0 && (o.hasEnded(seen) || kind.HaveEnded(ours, workload.IsGroup(o.Workload))) {
		return true, nil
	}
	ended := func(m client.Object) bool { return kind.HasEnded(m) }
	first := slices.DeleteFunc(slices.Clone(removable), ended)
	if err := forEach(ctx, first, func(m client.Object) error { return o.deleteJob(ctx, c, m, r) }); err != nil {
		return false, err
	}
	r.SpareJob = false
	return false, forEach(ctx, removable, func(m client.Object) error {
		if !ended(m) {
			return nil
		}
		return o.deleteJob(ctx, c, m, r)
	})
}

// MemberChanges are members that a worker is to get or to lose while the others run there.
type MemberChanges struct {
	// Missing are the hub's that are not there.
	Missing []client.Object
	// Surplus are the worker's that the hub does not have.
	Surplus []client.Object
	// Confirm makes sure, before either, whether the hub has the object of that name and UID.
	Confirm func(ctx context.Context, name string, uid types.UID) (exists bool, err error)
}

// MemberUID is the UID of the hub's object of which a worker's is a copy.
func MemberUID(remote client.Object) types.UID {
	return types.UID(remote.GetAnnotations()[kueue.MultiKueueOriginUIDAnnotation])
}

// SyncMembers makes the members on a worker those of the hub, provided that a live read shows the copy to be ours, of this epoch, and
// running. It waits there by its gate until the worker lets it go.
func (o Original) SyncMembers(ctx context.Context, c client.Client, epoch int64, nameInLabel bool, changes MemberChanges) error {
	wl := &kueue.Workload{}
	if err := c.Get(ctx, o.Key(), wl); err != nil {
		return client.IgnoreNotFound(err)
	}
	fact := o.ObserveWorkload(wl)
	fact.Adopted = false
	if !o.mayRunAs(fact, epoch) {
		return nil
	}
	err := forEach(ctx, changes.Missing, func(m client.Object) error {
		exists, err := changes.Confirm(ctx, m.GetName(), m.GetUID())
		if err != nil || !exists {
			return err
		}
		taken, err := o.createMember(ctx, c, m, epoch, nameInLabel)
		if err == nil && taken != nil {
			err = fmt.Errorf("create the copy of pod %s/%s: another pod has its name", m.GetNamespace(), m.GetName())
		}
		return err
	})
	if err != nil {
		return err
	}
	return forEach(ctx, changes.Surplus, func(m client.Object) error {
		exists, err := changes.Confirm(ctx, m.GetName(), MemberUID(m))
		if err != nil || exists || o.holderOfJob(m) != dispatch.Ours {
			return err
		}
		return deleteObject(ctx, c, m, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(m.GetUID())}})
	})
}

// forEach calls for each object, several at a time, and returns all errors.
func forEach(ctx context.Context, objects []client.Object, call func(client.Object) error) error {
	var mu sync.Mutex
	var failed *multierror.Error
	workqueue.ParallelizeUntil(ctx, callsAtOnce, len(objects), func(i int) {
		if err := call(objects[i]); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = multierror.Append(failed, err)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if failed != nil && len(failed.Errors) == 1 {
		return failed.Errors[0]
	}
	return failed.ErrorOrNil()
}
