// Package cluster is the controller of MultiKueueClusters: it gives the fleet their credentials and reports how their connections stand
// (contract: multikueue.md 2).
package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=multikueueclusters,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=multikueueclusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch,namespace=kueue-system

// Reconciler gives the fleet the credentials of MultiKueueClusters and reports how their connections stand (contract:
// multikueue.md 2). It never waits for a connection.
type Reconciler struct {
	Client      client.Client
	Fleet       *fleet.Fleet
	Credentials CredentialsLoader
	Clock       clock.PassiveClock
	// Recorder takes events about clusters.
	Recorder events.EventRecorder

	kubeconfigWatcher *kubeconfigWatcher
	warned            warnedGenerations
	writes            kube.WriteTracker
}

// kubeconfigRereadInterval is how often kubeconfig files are read again, whatever the last attempt came to: not every file system tells when
// they change, and a file that is back must not wait for a back-off while its jobs are taken for lost. Failures of other
// kinds are tried again at least as often.
const kubeconfigRereadInterval = 15 * time.Second

// Reconcile brings one cluster's credentials to the fleet and its state to the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &kueue.MultiKueueCluster{}
	err := r.Client.Get(ctx, req.NamespacedName, cluster)
	switch {
	case apierrors.IsNotFound(err), err == nil && !cluster.DeletionTimestamp.IsZero():
		r.Fleet.Remove(req.Name)
		r.kubeconfigWatcher.watchFile(req.Name, "")
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read MultiKueueCluster %s: %w", req.Name, err)
	}
	r.warnDeprecatedPath(cluster)
	r.kubeconfigWatcher.watchFile(cluster.Name, r.kubeconfigPath(cluster)) // before it is read, so that no change falls between
	condition, bad := r.connect(ctx, cluster)
	if condition != nil {
		switch err := r.writeCondition(ctx, cluster, *condition); {
		case apierrors.IsConflict(err):
			return ctrl.Result{RequeueAfter: kube.ConflictDelay}, nil
		case err != nil:
			return ctrl.Result{}, err
		}
	}
	switch {
	case usesKubeconfigFile(cluster):
		return ctrl.Result{RequeueAfter: kubeconfigRereadInterval}, nil
	case bad != nil && bad.isRetriable():
		return ctrl.Result{}, bad
	}
	return ctrl.Result{}, nil
}

// connect hands over credentials and returns the condition that follows, nil while nothing is known yet of these
// credentials; and why there are none, if so.
func (r *Reconciler) connect(ctx context.Context, cluster *kueue.MultiKueueCluster) (*metav1.Condition, *credentialsError) {
	credentials, err := r.Credentials.load(ctx, cluster)
	var bad *credentialsError
	switch {
	case errors.As(err, &bad):
		r.Fleet.Disconnect(cluster.Name, err)
		return newClusterCondition(metav1.ConditionFalse, bad.reason, bad.Error()), bad
	case err != nil:
		return nil, nil //nolint:nilerr // it is not known yet whether there are any; we are told when it is
	}
	r.Fleet.Connect(cluster.Name, credentials)
	state, _ := r.Fleet.State(cluster.Name)
	if state.Fingerprint != credentials.Fingerprint {
		return nil, nil // the first attempt is under way; its end brings us back
	}
	return connectionCondition(state), nil
}

func usesKubeconfigFile(cluster *kueue.MultiKueueCluster) bool {
	k := cluster.Spec.ClusterSource.KubeConfig
	return k != nil && k.LocationType == kueue.PathLocationType
}

// kubeconfigPath is the kubeconfig file of a cluster that has one and may have it, else empty.
func (r *Reconciler) kubeconfigPath(cluster *kueue.MultiKueueCluster) string {
	if !usesKubeconfigFile(cluster) {
		return ""
	}
	return allowedPath(r.Credentials.PathPrefix, cluster.Spec.ClusterSource.KubeConfig.Location)
}

// deprecatedPathMessage is the contract's (contract: messages.md 2.4).
const deprecatedPathMessage = "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is deprecated and will be " +
	"removed in a future release. Enable the MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under " +
	kueue.MultiKueueKubeConfigPathPrefix + "/."

// warnDeprecatedPath tells once of each version of a spec that reads a file from anywhere (contract: multikueue.md 2, step 1).
func (r *Reconciler) warnDeprecatedPath(cluster *kueue.MultiKueueCluster) {
	if usesKubeconfigFile(cluster) && r.Credentials.PathPrefix == "" && r.warned.addIfNew(cluster) {
		r.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, kueue.EventDeprecatedPathUsage, kueue.EventDeprecatedPathUsage,
			deprecatedPathMessage)
	}
}

// warnedGenerations remembers what was told about.
type warnedGenerations struct {
	mu          sync.Mutex
	generations map[types.UID]int64
}

// addIfNew reports whether this version of the cluster's spec is met for the first time.
func (t *warnedGenerations) addIfNew(cluster *kueue.MultiKueueCluster) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, found := t.generations[cluster.UID]; found && at == cluster.Generation {
		return false
	}
	if t.generations == nil {
		t.generations = map[types.UID]int64{}
	}
	t.generations[cluster.UID] = cluster.Generation
	return true
}

// connectionCondition is the condition of a cluster whose credentials are good.
func connectionCondition(state fleet.State) *metav1.Condition {
	switch {
	case state.Connected:
		return newClusterCondition(metav1.ConditionTrue, kueue.ReasonActive, "Connected"+unservedMessage(state.Unserved))
	case state.Err == nil:
		return nil
	case state.Failures == 0 && state.NextAttempt.IsZero():
		return newClusterCondition(metav1.ConditionFalse, kueue.ReasonClientConnectionFailed, state.Err.Error())
	case state.Failures == 0:
		return newClusterCondition(metav1.ConditionFalse, kueue.ReasonClientConnectionFailed, fmt.Sprintf(
			"%v; it broke soon again, next connection attempt: %s", state.Err, state.NextAttempt.UTC().Format(time.RFC3339)))
	}
	return newClusterCondition(metav1.ConditionFalse, kueue.ReasonClientConnectionFailed, fmt.Sprintf(
		"%v; connection attempts: %d, next connection attempt: %s",
		state.Err, state.Failures, state.NextAttempt.UTC().Format(time.RFC3339)))
}

// unservedMessage names the kinds of job that a connected cluster cannot be given. The contract knows no such cluster.
func unservedMessage(unserved []fleet.Unserved) string {
	var missing, denied []string
	for _, u := range unserved {
		name := u.GVK.Kind + "." + u.GVK.Version + "." + u.GVK.Group
		if u.IsDenied() {
			denied = append(denied, name)
		} else {
			missing = append(missing, name)
		}
	}
	text := ""
	if len(missing) > 0 {
		text += "; kinds not served there: " + strings.Join(missing, ", ")
	}
	if len(denied) > 0 {
		text += "; kinds that the hub may not see there, until its account is granted get, list, watch, create and delete: " + strings.Join(denied, ", ")
	}
	return text
}

func newClusterCondition(status metav1.ConditionStatus, reason kueue.Reason, message string) *metav1.Condition {
	return &metav1.Condition{
		Type: kueue.MultiKueueClusterActive, Status: status, Reason: string(reason),
		Message: kube.Truncate(message, kube.MaxConditionMessage),
	}
}

// writeCondition writes the condition if it says something new.
func (r *Reconciler) writeCondition(ctx context.Context, cluster *kueue.MultiKueueCluster, c metav1.Condition) error {
	c.ObservedGeneration = cluster.Generation
	c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	next := cluster.DeepCopy()
	old := meta.FindStatusCondition(cluster.Status.Conditions, c.Type)
	if old == nil || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message {
		meta.SetStatusCondition(&next.Status.Conditions, c)
	}
	if _, err := r.writes.PatchStatus(ctx, r.Client, cluster, next, r.Clock.Now()); err != nil {
		return fmt.Errorf("report on MultiKueueCluster %s: %w", cluster.Name, err)
	}
	return nil
}
