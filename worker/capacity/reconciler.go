package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/view"
)

// +kubebuilder:rbac:groups=switchyard.dev,resources=capacityreports,verbs=create;patch

const (
	// Interval is the least time between two writes of the report; with a report of more than calm bytes it is longer in
	// proportion, so that etcd does not have to take more than calm bytes in an Interval, however large the cluster.
	Interval = 2 * time.Second
	calm     = 128 << 10
	// refreshEvery is how often everything is computed anew: a few things of which the view does not tell (labels of
	// namespaces) must not be missed for long.
	refreshEvery = switchyard.CapacityReportRenewal
	// missingFor is how long to wait where CapacityReports are not installed.
	missingFor = 5 * time.Minute
	// manager is the field manager of the report.
	manager = "switchyard-capacity"
)

// Options say what the engine is like.
type Options struct {
	// Kinds are the kinds of job that it serves, each as Kind.version.group.
	Kinds []string
	// IgnoresUncovered is set if it may leave resources out of account that no group covers.
	IgnoresUncovered bool
	// FairSharing is set if preemption goes by shares.
	FairSharing bool
}

// Reconciler publishes the report. New makes one; it must not be called concurrently.
type Reconciler struct {
	client  client.Client
	view    *view.View
	clock   clock.PassiveClock
	options Options

	mu      sync.Mutex
	changed changes

	books *books
	// refreshed is when everything was computed anew.
	refreshed time.Time
	// notBefore is when the next write may be tried, and written what was written last, with the versions that it counts.
	notBefore time.Time
	written   *switchyard.CapacityReport
	versions  map[string]quota.Version
	// omitted is what was too much for the report that was written last.
	omitted []string
}

// New returns a Reconciler that has published nothing.
func New(c client.Client, v *view.View, clk clock.PassiveClock, options Options) *Reconciler {
	slices.Sort(options.Kinds)
	return &Reconciler{client: c, view: v, clock: clk, options: options, changed: newChanges(), books: newBooks(options.FairSharing)}
}

// Reconcile brings the report up to date, or says when it may be written again.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.clock.Now()
	if r.notBefore.After(now) {
		return kube.Wake(r.notBefore, now), nil
	}
	is := r.observe(now)
	if !r.news(is) {
		return r.rest(now), nil
	}
	size, err := r.act(ctx, is)
	r.notBefore = now.Add(Interval * time.Duration(1+size/calm))
	switch {
	case meta.IsNoMatchError(err):
		log.FromContext(ctx).Info("CapacityReports are not installed in this cluster: nobody is told what it has room for")
		r.notBefore = now.Add(missingFor)
		return kube.Wake(r.notBefore, now), nil
	case err != nil:
		return ctrl.Result{}, err
	}
	r.written, r.versions = is, maps.Clone(r.books.versions)
	return r.rest(now), nil
}

// rest is when to look again if there is no news before.
func (r *Reconciler) rest(now time.Time) ctrl.Result {
	return kube.Wake(kube.Earliest(r.refreshed.Add(refreshEvery), r.written.ObservedAt.Add(switchyard.CapacityReportRenewal)), now)
}

// observe keeps the books and returns what they say.
func (r *Reconciler) observe(now time.Time) *switchyard.CapacityReport {
	r.mu.Lock()
	changed := r.changed
	r.changed = newChanges()
	r.mu.Unlock()
	if !now.Before(r.refreshed.Add(refreshEvery)) {
		r.refreshed = now
		r.books.addAll(r.view, changed)
	}
	r.books.keep(r.view, changed)
	is := r.books.report(r.view)
	is.TypeMeta = metav1.TypeMeta{APIVersion: switchyard.GroupVersion.String(), Kind: "CapacityReport"}
	is.Name = switchyard.CapacityReportName
	is.ObservedAt = metav1.NewMicroTime(now)
	is.Kinds, is.IgnoresUncovered = r.options.Kinds, r.options.IgnoresUncovered
	return is
}

// news reports whether there is anything to write: other figures, the same figures of other reservations, or that they have
// been the same for so long that somebody might think that nobody looks any more.
func (r *Reconciler) news(is *switchyard.CapacityReport) bool {
	if r.written == nil || !maps.Equal(r.versions, r.books.versions) ||
		is.ObservedAt.Sub(r.written.ObservedAt.Time) >= switchyard.CapacityReportRenewal {
		return true
	}
	was := *r.written
	was.ObservedAt = is.ObservedAt
	return !equality.Semantic.DeepEqual(&was, is)
}

// act writes the report, as much of it as can be stored, and returns its size in bytes.
func (r *Reconciler) act(ctx context.Context, is *switchyard.CapacityReport) (int, error) {
	data, omitted, err := encoded(is)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(omitted, r.omitted) {
		log.FromContext(ctx).Info("The capacity report leaves out what would make it too large to be stored", "omitted", omitted, "bytes", len(data))
		r.omitted = omitted
	}
	answer := &switchyard.CapacityReport{ObjectMeta: metav1.ObjectMeta{Name: is.Name}}
	patch := client.RawPatch(types.ApplyPatchType, data)
	if err := r.client.Patch(ctx, answer, patch, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return len(data), fmt.Errorf("write the capacity report: %w", err)
	}
	return len(data), nil
}
