package appwrapper

import (
	"encoding/json"
	"fmt"

	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// Examples returns an AppWrapper and what its controller makes of its status.
func Examples() job.Examples[*awv1.AppWrapper] {
	return job.Examples[*awv1.AppWrapper]{
		Job: sample,
		Started: func(aw *awv1.AppWrapper) {
			enter(aw, awv1.AppWrapperRunning, awv1.QuotaReserved, awv1.ResourcesDeployed, awv1.PodsReady)
		},
		Suspending: func(aw *awv1.AppWrapper) { enter(aw, awv1.AppWrapperSuspended) },
		Succeeded:  func(aw *awv1.AppWrapper) { enter(aw, awv1.AppWrapperSucceeded, awv1.ResourcesDeployed, awv1.PodsReady) },
		Failed:     func(aw *awv1.AppWrapper) { enter(aw, awv1.AppWrapperFailed) },
	}
}

// enter puts the AppWrapper into a phase in which of all conditions only those named are true.
func enter(aw *awv1.AppWrapper, phase awv1.AppWrapperPhase, conditions ...awv1.AppWrapperCondition) {
	aw.Status.Phase = phase
	aw.Status.Conditions = nil
	for _, c := range conditions {
		meta.SetStatusCondition(&aw.Status.Conditions, metav1.Condition{Type: string(c), Status: metav1.ConditionTrue, Reason: string(phase)})
	}
}

// sample wraps a batch Job of three pods, a Service, and a LeaderWorkerSet with two declared groups.
func sample() *awv1.AppWrapper {
	return &awv1.AppWrapper{
		ObjectMeta: metav1.ObjectMeta{
			Name: "both", Namespace: "team", UID: "u-1", ResourceVersion: "5", Generation: 2,
			Labels: map[string]string{kueue.QueueNameLabel: "main"}, Annotations: map[string]string{"note": "mine"},
		},
		Spec: awv1.AppWrapperSpec{
			Suspend: true,
			Components: []awv1.AppWrapperComponent{
				component("batch/v1", "Job", map[string]any{"parallelism": 3, "template": podTemplateOf("train")}),
				component("v1", "Service", map[string]any{"selector": map[string]any{"app": "train"}}),
				leaderWorkerSet(),
			},
		},
	}
}

func leaderWorkerSet() awv1.AppWrapperComponent {
	c := component("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", map[string]any{"replicas": 2, "leaderWorkerTemplate": map[string]any{
		"size": 4, "leaderTemplate": podTemplateOf("leader"), "workerTemplate": podTemplateOf("worker"),
	}})
	c.DeclaredPodSets = []awv1.AppWrapperPodSet{
		{Replicas: ptr.To[int32](2), Path: "template.spec.leaderWorkerTemplate.leaderTemplate"},
		{Replicas: ptr.To[int32](6), Path: "template.spec.leaderWorkerTemplate.workerTemplate"},
	}
	return c
}

// component wraps an object that has the name of its kind.
func component(apiVersion, kind string, spec map[string]any) awv1.AppWrapperComponent {
	raw, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "the-" + kind}, "spec": spec})
	if err != nil {
		panic(fmt.Sprintf("example of an AppWrapper: %v", err))
	}
	return awv1.AppWrapperComponent{Template: runtime.RawExtension{Raw: raw}}
}

func podTemplateOf(name string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}, "annotations": map[string]any{"scrape": "yes"}},
		"spec": map[string]any{
			"containers":   []any{map[string]any{"name": "main", "image": name + ":1", "resources": map[string]any{"requests": map[string]any{"cpu": "2"}}}},
			"nodeSelector": map[string]any{"arch": "arm64"},
			"tolerations":  []any{map[string]any{"key": "spot", "operator": "Exists"}},
		},
	}
}
