// Package checkconfig reads how an AdmissionCheck of the multikueue controller is configured, and names the kinds of objects that the
// controllers of the check watch.
package checkconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// ConfigKind is the kind that the parameters of a multikueue check must refer to.
const ConfigKind = "MultiKueueConfig"

// Names of the indexes of the hub's cache.
const (
	// ByConfig finds AdmissionChecks by their MultiKueueConfig.
	ByConfig = "multikueue.config"
	// ByCluster finds MultiKueueConfigs by their clusters.
	ByCluster = "multikueue.member"
)

// ConfigIndexValues returns the values of ByConfig.
func ConfigIndexValues(ac *kueue.AdmissionCheck) []string {
	if p := ac.Spec.Parameters; p != nil && p.Kind == ConfigKind && ac.Spec.ControllerName == kueue.MultiKueueControllerName {
		return []string{p.Name}
	}
	return nil
}

// FindAdmissionCheck returns the Workload's entry for a multikueue check, the first there is; nil if there is none (contract:
// multikueue.md 4 P2). The entry points into wl; the check is the cache's own.
func FindAdmissionCheck(ctx context.Context, c client.Reader, wl *kueue.Workload) (*kueue.AdmissionCheckState, *kueue.AdmissionCheck, error) {
	for i := range wl.Status.AdmissionChecks {
		entry := &wl.Status.AdmissionChecks[i]
		ac := &kueue.AdmissionCheck{}
		err := c.Get(ctx, client.ObjectKey{Name: string(entry.Name)}, ac, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, nil, fmt.Errorf("read AdmissionCheck %s: %w", entry.Name, err)
		case ac.Spec.ControllerName == kueue.MultiKueueControllerName:
			return entry, ac, nil
		}
	}
	return nil, nil, nil
}

// FindConfig returns the config of a check, which is the cache's own. The error is one for the user, worded as in the check's
// condition (contract: multikueue.md 3), or one of reading.
func FindConfig(ctx context.Context, c client.Reader, ac *kueue.AdmissionCheck) (*kueue.MultiKueueConfig, error) {
	p := ac.Spec.Parameters
	switch {
	case p == nil:
		return nil, errors.New("missing parameters reference")
	case p.APIGroup != kueue.GroupVersion.Group:
		return nil, fmt.Errorf("wrong group %q, expecting %q", p.APIGroup, kueue.GroupVersion.Group)
	case p.Kind != ConfigKind:
		return nil, fmt.Errorf("wrong kind %q, expecting %q", p.Kind, ConfigKind)
	}
	config := &kueue.MultiKueueConfig{}
	if err := c.Get(ctx, client.ObjectKey{Name: p.Name}, config, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return config, nil
}

// ClusterActiveChanged passes creations, deletions, and changes of the condition Active of MultiKueueClusters.
func ClusterActiveChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*kueue.MultiKueueCluster)
		is, okay := e.ObjectNew.(*kueue.MultiKueueCluster)
		return ok && okay && meta.IsStatusConditionTrue(was.Status.Conditions, kueue.MultiKueueClusterActive) !=
			meta.IsStatusConditionTrue(is.Status.Conditions, kueue.MultiKueueClusterActive)
	}}
}

// ClusterQueueGVK is the kind of ClusterQueues, on the hub and on workers.
func ClusterQueueGVK() schema.GroupVersionKind { return kueue.GroupVersion.WithKind("ClusterQueue") }

// LocalQueueGVK is the kind of LocalQueues.
func LocalQueueGVK() schema.GroupVersionKind { return kueue.GroupVersion.WithKind("LocalQueue") }

// ListChecks names the admission checks of a ClusterQueue.
func ListChecks(queue *kueue.ClusterQueue) []string {
	if queue.Spec.AdmissionChecksStrategy == nil {
		return nil
	}
	var names []string
	for _, rule := range queue.Spec.AdmissionChecksStrategy.AdmissionChecks {
		names = append(names, string(rule.Name))
	}
	return names
}

// AnnotationsChanged passes creations, deletions, and updates that change one of our annotations.
func AnnotationsChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return slices.ContainsFunc([]string{
				switchyard.RunPolicyAnnotation, switchyard.PreferClustersAnnotation, switchyard.CordonedAnnotation,
				switchyard.DrainAnnotation, switchyard.GoneAnnotation, switchyard.WeightAnnotation,
			}, func(name string) bool { return was[name] != is[name] })
		},
	}
}
