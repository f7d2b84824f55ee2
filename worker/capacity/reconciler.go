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
	// MinWriteInterval is the least time between two writes of the report; with a report of more than calm bytes it is longer in
	// proportion, so that etcd does not have to take more than calm bytes in an Interval, however large the cluster.
	MinWriteInterval    = 2 * time.Second
	maxBytesPerInterval = 128 << 10
	// refreshInterval is how often everything is computed anew: a few things of which the view does not tell (labels of
	// namespaces) must not be missed for long.
	refreshInterval = switchyard.CapacityReportRenewal
	// notInstalledRetry is how long to wait where CapacityReports are not installed.
	notInstalledRetry = 5 * time.Minute
	// fieldOwner is the field manager of the report.
	fieldOwner = "switchyard-capacity"
)

// Options say what the engine is like.
type Options struct {
	// JobKinds are the kinds of job that it serves, each as Kind.version.group.
	JobKinds []string
	// MoreKinds, optional, returns those that come and go while the program runs.
	MoreKinds func() []string
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
	changed changedNames

	cache *reportCache
	// refreshedAt is when everything was computed anew.
	refreshedAt time.Time
	// notBefore is when the next write may be tried, and written what was written last, with the versions that it counts.
	notBefore       time.Time
	lastWritten     *switchyard.CapacityReport
	writtenVersions map[string]quota.Version
	// omitted is what was too much for the report that was written last.
	omitted []string
}

// New returns a Reconciler that has published nothing.
func New(c client.Client, v *view.View, clk clock.PassiveClock, options Options) *Reconciler {
	slices.Sort(options.JobKinds)
	return &Reconciler{client: c, view: v, clock: clk, options: options, changed: newChangedNames(), cache: newReportCache(options.FairSharing)}
}

// Reconcile brings the report up to date, or says when it may be written again.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.clock.Now()
	if r.notBefore.After(now) {
		return kube.RequeueAt(r.notBefore, now), nil
	}
	is := r.refreshReport(now)
	if !r.needsWrite(is) {
		return r.nextReconcile(now), nil
	}
	size, err := r.writeReport(ctx, is)
	r.notBefore = now.Add(MinWriteInterval * time.Duration(1+size/maxBytesPerInterval))
	switch {
	case meta.IsNoMatchError(err):
		log.FromContext(ctx).Info("CapacityReports are not installed in this cluster: nobody is told what it has room for")
		r.notBefore = now.Add(notInstalledRetry)
		return kube.RequeueAt(r.notBefore, now), nil
	case err != nil:
		return ctrl.Result{}, err
	}
	r.lastWritten, r.writtenVersions = is, maps.Clone(r.cache.versions)
	return r.nextReconcile(now), nil
}

// nextReconcile is when to look again if there is no news before.
func (r *Reconciler) nextReconcile(now time.Time) ctrl.Result {
	return kube.RequeueAt(kube.Earliest(r.refreshedAt.Add(refreshInterval), r.lastWritten.ObservedAt.Add(switchyard.CapacityReportRenewal)), now)
}

// refreshReport updates the report and returns it.
func (r *Reconciler) refreshReport(now time.Time) *switchyard.CapacityReport {
	r.mu.Lock()
	changed := r.changed
	r.changed = newChangedNames()
	r.mu.Unlock()
	if !now.Before(r.refreshedAt.Add(refreshInterval)) {
		r.refreshedAt = now
		r.cache.markAllChanged(r.view, changed)
	}
	r.cache.update(r.view, changed)
	is := r.cache.buildReport(r.view)
	is.TypeMeta = metav1.TypeMeta{APIVersion: switchyard.GroupVersion.String(), Kind: "CapacityReport"}
	is.Name = switchyard.CapacityReportName
	is.ObservedAt = metav1.NewMicroTime(now)
	is.Kinds, is.IgnoresUncovered = r.options.servedKinds(), r.options.IgnoresUncovered
	return is
}

// servedKinds are all kinds that are served now, sorted.
func (o *Options) servedKinds() []string {
	if o.MoreKinds == nil {
		return o.JobKinds
	}
	all := slices.Concat(o.JobKinds, o.MoreKinds())
	slices.Sort(all)
	return all
}

// needsWrite reports whether there is anything to write: other figures, the same figures of other reservations, or figures
// that have been the same for so long that readers might take the report for abandoned.
func (r *Reconciler) needsWrite(is *switchyard.CapacityReport) bool {
	if r.lastWritten == nil || !maps.Equal(r.writtenVersions, r.cache.versions) ||
		is.ObservedAt.Sub(r.lastWritten.ObservedAt.Time) >= switchyard.CapacityReportRenewal {
		return true
	}
	was := *r.lastWritten
	was.ObservedAt = is.ObservedAt
	return !equality.Semantic.DeepEqual(&was, is)
}

// writeReport writes the report, as much of it as can be stored, and returns its size in bytes.
func (r *Reconciler) writeReport(ctx context.Context, is *switchyard.CapacityReport) (int, error) {
	data, omitted, err := encodeReport(is)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(omitted, r.omitted) {
		log.FromContext(ctx).Info("The capacity report leaves out what would make it too large to be stored", "omitted", omitted, "bytes", len(data))
		r.omitted = omitted
	}
	answer := &switchyard.CapacityReport{ObjectMeta: metav1.ObjectMeta{Name: is.Name}}
	patch := client.RawPatch(types.ApplyPatchType, data)
	if err := r.client.Patch(ctx, answer, patch, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return len(data), fmt.Errorf("write the capacity report: %w", err)
	}
	return len(data), nil
}
