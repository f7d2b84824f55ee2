package jobkind

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=switchyard.dev,resources=jobkinds,verbs=get;list;watch
// +kubebuilder:rbac:groups=switchyard.dev,resources=jobkinds/status,verbs=patch
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

const (
	// retryFirst and retryLast are how long to wait before what a kind needs is looked for again, which no event tells of.
	retryFirst, retryLast = 2 * time.Second, 2 * time.Minute
	// served is what the condition Serving says of a kind that is served.
	served = "Jobs of the kind are looked after"
)

// reconciler keeps what runs in line with the JobKinds. There is one request, for all of them: whether one is accepted depends on the others.
type reconciler struct {
	client client.Client
	mapper meta.RESTMapper
	clock  clock.PassiveClock
	taken  taken
	runner runner
	// listener is told which kinds are declared.
	listener Listener
	// dispatches tells that the program writes statuses of jobs that run elsewhere.
	dispatches bool
	webhooks   *webhookRules

	compiler compiler
	running  *runningKinds
	retries  map[types.UID]retry
}

// runner starts what looks after jobs of a kind.
type runner interface {
	start(context.Context, *configured.Program) (instance, error)
}

// instance looks after jobs of a kind.
type instance interface {
	// stop returns when nothing of it runs any more.
	stop()
	// failure is why it has ended by itself; nil while it runs.
	failure() error
}

// retry is when a kind that could not be started is tried again.
type retry struct {
	generation int64
	delay      time.Duration
	at         time.Time
}

// Reconcile looks at all JobKinds.
func (r *reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var all switchyard.JobKindList
	if err := r.client.List(ctx, &all); err != nil {
		return ctrl.Result{}, fmt.Errorf("list JobKinds: %w", err)
	}
	verdicts := r.compiler.resolve(all.Items, r.taken)
	r.listener.SetDeclared(declaredKinds(verdicts))
	r.stopOthers(ctx, verdicts)
	var failed *multierror.Error
	var wake time.Time
	conditions := make([]serving, len(verdicts))
	for i, v := range verdicts {
		s, at, err := r.serve(ctx, v)
		conditions[i], wake = s, kube.Earliest(wake, at)
		failed = multierror.Append(failed, err)
	}
	note, err := r.webhooks.apply(ctx, r.running.resources())
	failed = multierror.Append(failed, err)
	for i, v := range verdicts {
		if conditions[i].served && note != "" {
			conditions[i].message = served + "; " + note
		}
		failed = multierror.Append(failed, r.writeStatus(ctx, v, conditions[i]))
	}
	return kube.RequeueAt(wake, r.clock.Now()), failed.ErrorOrNil()
}

// stopOthers stops kinds that no accepted JobKind declares as they run.
func (r *reconciler) stopOthers(ctx context.Context, verdicts []verdict) {
	wanted := map[types.UID]int64{}
	for _, v := range verdicts {
		if v.program != nil {
			wanted[v.jobKind.UID] = v.jobKind.Generation
		}
	}
	for _, uid := range r.running.exceptFor(wanted) {
		log.FromContext(ctx).Info("Stopping a configured kind of job", "kind", r.running.stop(uid))
	}
	for uid := range r.retries {
		if _, found := wanted[uid]; !found {
			delete(r.retries, uid)
		}
	}
}

// serve starts a kind that is accepted and does not run, and returns the condition Serving and when to look again. An error is one of the
// API server.
func (r *reconciler) serve(ctx context.Context, v verdict) (serving, time.Time, error) {
	if v.program == nil {
		return serving{reason: switchyard.JobKindNotAccepted, message: "The JobKind is not accepted"}, time.Time{}, nil
	}
	if err, found := r.running.failure(v.jobKind.UID); found && err == nil {
		return serving{served: true, reason: switchyard.JobKindStarted, message: served}, time.Time{}, nil
	} else if found {
		r.running.stop(v.jobKind.UID)
		return serving{reason: switchyard.JobKindFailed, message: err.Error()}, r.tryLater(v), nil
	}
	if last := r.retries[v.jobKind.UID]; last.generation == v.jobKind.Generation && last.at.After(r.clock.Now()) {
		return currentServing(v.jobKind), last.at, nil
	}
	s, err := r.tryStart(ctx, v)
	if s.served {
		delete(r.retries, v.jobKind.UID)
		return s, time.Time{}, nil
	}
	return s, r.tryLater(v), err
}

// tryLater returns when to try again, each time after twice as long.
func (r *reconciler) tryLater(v verdict) time.Time {
	last := r.retries[v.jobKind.UID]
	if last.generation != v.jobKind.Generation {
		last = retry{generation: v.jobKind.Generation}
	}
	last.delay = min(max(2*last.delay, retryFirst), retryLast)
	last.at = r.clock.Now().Add(last.delay)
	if r.retries == nil {
		r.retries = map[types.UID]retry{}
	}
	r.retries[v.jobKind.UID] = last
	return last.at
}

// tryStart starts a kind if the cluster has what it needs.
func (r *reconciler) tryStart(ctx context.Context, v verdict) (serving, error) {
	gvk := v.program.GVK()
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return serving{reason: switchyard.JobKindNotServedByAPI, message: fmt.Sprintf("Waiting for the API server to serve %s %s", gvk.GroupVersion(), gvk.Kind)}, nil
	}
	if err != nil {
		return serving{reason: switchyard.JobKindFailed, message: err.Error()}, fmt.Errorf("look for the API of %s: %w", gvk.Kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return serving{reason: switchyard.JobKindFailed, message: fmt.Sprintf("%s is not namespaced: jobs are queued in namespaces", gvk.Kind)}, nil
	}
	missing, err := missingRights(ctx, r.client, mapping, neededRights(r.dispatches && v.jobKind.Spec.Dispatch != nil))
	if err != nil {
		return serving{reason: switchyard.JobKindFailed, message: err.Error()}, err
	}
	if missing != "" {
		return serving{reason: switchyard.JobKindForbidden, message: missing}, nil
	}
	started, err := r.runner.start(ctx, v.program)
	if err != nil {
		return serving{reason: switchyard.JobKindFailed, message: err.Error()}, nil //nolint:nilerr // the condition says it, and it is tried again later
	}
	r.running.add(v, mapping, started)
	log.FromContext(ctx).Info("Serving a configured kind of job", "kind", gvk)
	return serving{served: true, reason: switchyard.JobKindStarted, message: served}, nil
}

// writeStatus writes the conditions if they say something new.
func (r *reconciler) writeStatus(ctx context.Context, v verdict, s serving) error {
	_, err := kube.PatchStatus(ctx, r.client, v.jobKind, withStatus(v, s, r.clock.Now()))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of JobKind %s: %w", v.jobKind.Name, err)
	}
	return nil
}

// currentServing is the condition Serving as it was written last.
func currentServing(of *switchyard.JobKind) serving {
	c := meta.FindStatusCondition(of.Status.Conditions, switchyard.JobKindServing)
	if c == nil {
		return serving{reason: switchyard.JobKindStarting, message: "The kind is about to be served"}
	}
	return serving{served: c.Status == "True", reason: c.Reason, message: c.Message}
}
