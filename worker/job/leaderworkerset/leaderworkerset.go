// Package leaderworkerset declares the LeaderWorkerSet of leaderworkerset.x-k8s.io/v1, and keeps its Workloads and its pods in step with
// it: each of its groups of a leader and workers is admitted for itself, as a group of pods that serves (contract: job-kinds.md 13).
package leaderworkerset

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
)

// Name is the name of the framework.
const Name = "leaderworkerset.x-k8s.io/leaderworkerset"

// maxReplicas is how many groups a set may ask for.
const maxReplicas = 1_000_000

// Names of pod sets: of a group whose leader has a template of its own, and of one whose pods are all alike.
const (
	leaderSet = "leader"
	workerSet = "worker"
	mainSet   = "main"
)

func gvk() schema.GroupVersionKind { return lwsv1.GroupVersion.WithKind("LeaderWorkerSet") }

// Kind returns the declaration.
func Kind() serving.Kind[*lwsv1.LeaderWorkerSet] {
	return serving.Kind[*lwsv1.LeaderWorkerSet]{
		Name:          Name,
		GVK:           gvk(),
		AddToScheme:   lwsv1.AddToScheme,
		New:           func() *lwsv1.LeaderWorkerSet { return &lwsv1.LeaderWorkerSet{} },
		NewList:       func() client.ObjectList { return &lwsv1.LeaderWorkerSetList{} },
		ReadyReplicas: func(s *lwsv1.LeaderWorkerSet) int32 { return s.Status.ReadyReplicas },
		Mark:          mark,
		Validate:      validate,
		Start:         start,
	}
}

// Framework is the kind for callers that deal with all kinds.
func Framework() serving.Framework[*lwsv1.LeaderWorkerSet] { return serving.NewFramework(Kind()) }

// mark makes the pods of all groups wait. Workers are counted from one where the leader is placed for itself.
func mark(s *lwsv1.LeaderWorkerSet, gates job.Gates) {
	for _, t := range templates(s) {
		serving.MarkTemplate(t, Name)
		serving.CopyQueue(t, s)
		metav1.SetMetaDataAnnotation(&t.ObjectMeta, kueue.PodGroupServingAnnotation, "true")
	}
	worker := &s.Spec.LeaderWorkerTemplate.WorkerTemplate
	if _, placedTogether := worker.Annotations[kueue.PodSetGroupNameAnnotation]; gates.Topology && hasLeaderTemplate(s) && !placedTogether {
		metav1.SetMetaDataAnnotation(&worker.ObjectMeta, kueue.PodIndexOffsetAnnotation, "1")
	}
}

// templates are the pod templates of a set: of the leader, if it has one of its own, and of the workers.
func templates(s *lwsv1.LeaderWorkerSet) []*corev1.PodTemplateSpec {
	of := &s.Spec.LeaderWorkerTemplate
	if of.LeaderTemplate == nil {
		return []*corev1.PodTemplateSpec{&of.WorkerTemplate}
	}
	return []*corev1.PodTemplateSpec{of.LeaderTemplate, &of.WorkerTemplate}
}

func hasLeaderTemplate(s *lwsv1.LeaderWorkerSet) bool {
	return s.Spec.LeaderWorkerTemplate.LeaderTemplate != nil
}

// isMarked tells whether the pods of a set wait because of this package.
func isMarked(s *lwsv1.LeaderWorkerSet) bool {
	return serving.BelongsTo(&s.Spec.LeaderWorkerTemplate.WorkerTemplate, Name)
}

// groupSize is how many pods a group has.
func groupSize(s *lwsv1.LeaderWorkerSet) int32 { return ptr.Deref(s.Spec.LeaderWorkerTemplate.Size, 1) }

// replicas is how many groups the set asks for.
func replicas(s *lwsv1.LeaderWorkerSet) int32 {
	return min(max(ptr.Deref(s.Spec.Replicas, 1), 0), maxReplicas)
}

// groupCount is how many groups the set has, those that a rollout adds for a while included.
func groupCount(s *lwsv1.LeaderWorkerSet) int {
	count := replicas(s)
	if surges(s) && s.Status.UpdatedReplicas < count {
		count = max(count, min(s.Status.Replicas, maxReplicas))
	}
	return int(count)
}

// surges tells whether rollouts of the set add groups.
func surges(s *lwsv1.LeaderWorkerSet) bool {
	rolling := s.Spec.RolloutStrategy.RollingUpdateConfiguration
	if rolling == nil {
		return false
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(&rolling.MaxSurge, int(replicas(s)), true)
	return err == nil && surge > 0
}

// partition is the first group that rollouts replace.
func partition(s *lwsv1.LeaderWorkerSet) int {
	if rolling := s.Spec.RolloutStrategy.RollingUpdateConfiguration; rolling != nil {
		return int(ptr.Deref(rolling.Partition, 0))
	}
	return 0
}

// podSets are what a group of the set asks for. An error says what the user must change.
func podSets(s *lwsv1.LeaderWorkerSet) ([]kueue.PodSet, error) {
	size := groupSize(s)
	if size < 1 {
		return nil, fmt.Errorf("spec.leaderWorkerTemplate.size: a group has at least one pod, not %d", size)
	}
	of := &s.Spec.LeaderWorkerTemplate
	if of.LeaderTemplate == nil {
		return []kueue.PodSet{{Name: mainSet, Count: size, Template: ownTemplate(&of.WorkerTemplate)}}, nil
	}
	return []kueue.PodSet{
		{Name: leaderSet, Count: 1, Template: ownTemplate(of.LeaderTemplate)},
		{Name: workerSet, Count: size - 1, Template: ownTemplate(&of.WorkerTemplate)},
	}, nil
}

// ownTemplate is a template without what the controller of the kind has put into its metadata.
func ownTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	own := *t.DeepCopy()
	for _, m := range []map[string]string{own.Labels, own.Annotations} {
		for key := range m {
			if strings.HasPrefix(key, "leaderworkerset.sigs.k8s.io") && key != lwsv1.SetNameLabelKey {
				delete(m, key)
			}
		}
	}
	return own
}

// groupName is the name of one group of the set.
func groupName(s *lwsv1.LeaderWorkerSet, index int) string {
	return fmt.Sprintf("%s-%d", s.Name, index)
}
