package uptime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kueue-system,resources=leases,verbs=get;create;update

// Hub is the cluster that this program is the hub of: its identity, and its own record of when the program has run. Nothing
// is dispatched before both are known. A nil Hub has no identity and no record.
type Hub struct {
	// APIReader reads from the hub's API server, Client writes to it.
	APIReader client.Reader
	Client    client.Writer
	// Namespace is that of the hub's program.
	Namespace string
	Clock     clock.WithTicker

	writeMu     sync.Mutex // held while the record is written
	mu          sync.Mutex // held while the fields below are
	uid         types.UID
	uptime      uptime
	restoredErr error // set once the API server is known to have been put back while this program ran
}

// uptimeInterval is how often it is put on record that the program runs.
const uptimeInterval = 10 * time.Second

// ErrRestored says that the hub's API server was put back to an earlier state while this program ran. What its caches show need not
// be true any more, and some watches will never tell: it has to end, and to begin anew.
var ErrRestored = errors.New("the hub's API server was put back to an earlier state; this program ends, to begin anew with what is there")

// systemNamespace bears the identity of a cluster: it comes and goes with it.
const systemNamespace = metav1.NamespaceSystem

// EnsureRegistered reads the hub's identity and puts on record that its program runs, once.
func (h *Hub) EnsureRegistered(ctx context.Context) error {
	if h == nil {
		return nil
	}
	if known, err := h.recordedUptime(); err != nil || !known.until.IsZero() {
		return err
	}
	h.writeMu.Lock()
	defer h.writeMu.Unlock()
	if known, err := h.recordedUptime(); err != nil || !known.until.IsZero() {
		return err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := h.APIReader.Get(ctx, client.ObjectKey{Name: systemNamespace}, namespace); err != nil {
		return fmt.Errorf("read the hub's identity, the UID of its namespace %s: %w", systemNamespace, err)
	}
	lease, err := h.readUptimeLease(ctx)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	record, err := parseUptime(lease)
	if err != nil && lease.ResourceVersion != "" {
		ctrl.LoggerFrom(ctx).Error(err, "What was made before now counts as made in a time that the hub has no record of")
	}
	if err != nil {
		record = uptime{}
	}
	return h.writeUptimeLease(ctx, lease, record.withRestart(h.Clock.Now()), namespace.UID)
}

// recordedUptime is what this program has put on record last, and whether that was undone.
func (h *Hub) recordedUptime() (uptime, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uptime, h.restoredErr
}

// readUptimeLease returns the record, and an empty one with the error NotFound.
func (h *Hub) readUptimeLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	if err := h.APIReader.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: switchyard.UptimeLease}, lease); err != nil {
		return &coordinationv1.Lease{}, fmt.Errorf("read the record of the hub's uptime: %w", err)
	}
	return lease, nil
}

// writeUptimeLease stores a record as it follows from what was read.
func (h *Hub) writeUptimeLease(ctx context.Context, lease *coordinationv1.Lease, next uptime, uid types.UID) error {
	next.until = next.until.UTC().Truncate(time.Microsecond)
	lease.Namespace, lease.Name = h.Namespace, switchyard.UptimeLease
	lease.Annotations = map[string]string{switchyard.DowntimesAnnotation: next.formatDowntimes()}
	lease.Spec.HolderIdentity = ptr.To(string(uid))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: next.until}
	store := func() error { return h.Client.Update(ctx, lease) }
	if lease.ResourceVersion == "" {
		store = func() error { return h.Client.Create(ctx, lease) }
	}
	if err := store(); err != nil {
		return fmt.Errorf("put the hub's uptime on record: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uid, h.uptime = uid, next
	return nil
}

// VerifyNotRestored asks the API server whether it still has our last record. A Workload that a read before this one did not find was not
// undone by a restore.
func (h *Hub) VerifyNotRestored(ctx context.Context) error {
	if h == nil {
		return nil
	}
	_, err := h.readVerifiedLease(ctx)
	return err
}

// readVerifiedLease reads the record and compares it with what was our last one before.
func (h *Hub) readVerifiedLease(ctx context.Context) (*coordinationv1.Lease, error) {
	last, err := h.recordedUptime()
	if err != nil {
		return nil, err
	}
	lease, err := h.readUptimeLease(ctx)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return nil, err
	}
	if gone || lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(last.until) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.restoredErr = ErrRestored
		return nil, h.restoredErr
	}
	return lease, nil
}

// renewUptime puts on record that the program runs.
func (h *Hub) renewUptime(ctx context.Context) error {
	h.writeMu.Lock()
	defer h.writeMu.Unlock()
	next, err := h.recordedUptime()
	if err != nil || next.until.IsZero() { // it has not begun
		return err
	}
	lease, err := h.readVerifiedLease(ctx)
	if err != nil {
		return err
	}
	next.until = h.Clock.Now()
	return h.writeUptimeLease(ctx, lease, next, h.Identity())
}

// Identity is empty as long as it is not known.
func (h *Hub) Identity() types.UID {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uid
}

// IsUnrecorded tells whether the hub has no record of a time.
func (h *Hub) IsUnrecorded(made time.Time) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uptime.isUnrecorded(made)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (h *Hub) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It ends with ErrRestored if the hub was put back.
func (h *Hub) Start(ctx context.Context) error {
	ticker := h.Clock.NewTicker(uptimeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		calling, cancel := context.WithTimeout(ctx, uptimeInterval)
		err := h.renewUptime(calling)
		cancel()
		switch {
		case errors.Is(err, ErrRestored):
			return err
		case err != nil && ctx.Err() == nil:
			ctrl.LoggerFrom(ctx).Error(err, "Put the hub's uptime on record")
		}
	}
}
