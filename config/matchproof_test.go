package config_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/webhook"
)

// change is something that a write could do to a Workload, sensible or not.
type change struct {
	name string
	do   func(*kueue.Workload)
}

func annotate(key, value string) change {
	return change{key + "=" + value, func(w *kueue.Workload) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, key, value) }}
}

func unannotate(key string) change {
	return change{"no " + key, func(w *kueue.Workload) { delete(w.Annotations, key) }}
}

// metadataAndSpec are changes of everything but the status.
func metadataAndSpec() []change {
	set := func(name string, do func(*kueue.PodSet)) change {
		return change{name, func(w *kueue.Workload) { do(&w.Spec.PodSets[0]) }}
	}
	container := func(p *kueue.PodSet) *corev1.Container { return &p.Template.Spec.Containers[0] }
	return []change{
		annotate(kueue.PriorityBoostAnnotation, "7"), annotate(kueue.PriorityBoostAnnotation, "lots"), unannotate(kueue.PriorityBoostAnnotation),
		annotate(kueue.AdmissionGatedByAnnotation, "b"), annotate(kueue.AdmissionGatedByAnnotation, "a,,b"), unannotate(kueue.AdmissionGatedByAnnotation),
		annotate(switchyard.OwnerUIDAnnotation, "u"), unannotate(switchyard.OwnerUIDAnnotation),
		annotate(switchyard.HubUIDAnnotation, "h"), unannotate(switchyard.HubUIDAnnotation),
		annotate(switchyard.OnHubLostAnnotation, "Stop"), unannotate(switchyard.OnHubLostAnnotation),
		annotate(switchyard.EpochAnnotation, "9"), annotate(switchyard.EpochAnnotation, "2"), unannotate(switchyard.EpochAnnotation),
		annotate(kueue.ElasticJobAnnotation, "true"), annotate("example.com/note", "x"),
		{"a hub's", func(w *kueue.Workload) { metav1.SetMetaDataLabel(&w.ObjectMeta, kueue.MultiKueueOriginLabel, "hub") }},
		{"nobody's", func(w *kueue.Workload) { w.Labels = nil }},
		{"no finalizers", func(w *kueue.Workload) { w.Finalizers = nil }},
		{"inactive", func(w *kueue.Workload) { w.Spec.Active = ptr.To(false) }},
		set("more pods", func(p *kueue.PodSet) { p.Count++ }), set("fewer pods", func(p *kueue.PodSet) { p.Count-- }),
		set("fewer pods will do", func(p *kueue.PodSet) { p.MinCount = ptr.To[int32](1) }),
		set("a request below zero", func(p *kueue.PodSet) { container(p).Resources.Requests["cpu"] = resource.MustParse("-1") }),
		set("a request for pods", func(p *kueue.PodSet) { container(p).Resources.Requests[corev1.ResourcePods] = resource.MustParse("1") }),
		set("the same in other words", func(p *kueue.PodSet) { container(p).Resources.Requests["cpu"] = resource.MustParse("2000m") }),
		set("a label that no pod can have", func(p *kueue.PodSet) { p.Template.Labels = map[string]string{"a b": "c"} }),
		set("slices", func(p *kueue.PodSet) {
			p.TopologyRequest = &kueue.PodSetTopologyRequest{PodSetSliceSize: ptr.To[int32](9)}
		}),
		{"one more pod set", func(w *kueue.Workload) {
			more := *w.Spec.PodSets[0].DeepCopy()
			more.Name, more.MinCount = "more", ptr.To[int32](1)
			w.Spec.PodSets = append(w.Spec.PodSets, more)
		}},
	}
}

// templates are changes of what a new Workload's pods are made of.
func templates() []change {
	set := func(name string, do func(*corev1.PodTemplateSpec)) change {
		return change{name, func(w *kueue.Workload) { do(&w.Spec.PodSets[0].Template) }}
	}
	below := corev1.ResourceList{"cpu": resource.MustParse("-100m")}
	return []change{
		set("no label of its own", func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"example.com/": "c"} }),
		set("a label of jobs", func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"batch.kubernetes.io/job-name": "j"} }),
		set("a value that no pod can have", func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"a": "b c"} }),
		set("an annotation that no pod can have", func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"a b": "c"} }),
		set("an annotation", func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"a": "b"} }),
		set("a limit below zero", func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Resources.Limits = below }),
		set("an init container that gives", func(t *corev1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: below}}}
		}),
		set("a pod that gives", func(t *corev1.PodTemplateSpec) { t.Spec.Resources = &corev1.ResourceRequirements{Requests: below} }),
	}
}

// statuses are changes of the status.
func statuses() []change {
	says := func(kind string, status metav1.ConditionStatus) change {
		return change{kind + " " + string(status), func(w *kueue.Workload) { setCondition(w, kind, status) }}
	}
	admits := func(name, queue string, podSet kueue.PodSetReference, count *int32, cpu string) change {
		return change{name, func(w *kueue.Workload) { w.Status.Admission = assigned(queue, podSet, count, cpu) }}
	}
	checked := func(state kueue.CheckState, updates ...kueue.PodSetUpdate) change {
		return change{fmt.Sprintf("check %s, %d updates", state, len(updates)), func(w *kueue.Workload) {
			w.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "c", State: state, LastTransitionTime: metav1.NewTime(moment), PodSetUpdates: updates}}
		}}
	}
	reclaims := func(podSet kueue.PodSetReference, count int32) change {
		return change{fmt.Sprintf("%d of %s reclaimable", count, podSet), func(w *kueue.Workload) {
			w.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: podSet, Count: count}}
		}}
	}
	return []change{
		says(kueue.WorkloadQuotaReserved, metav1.ConditionTrue), says(kueue.WorkloadQuotaReserved, metav1.ConditionFalse),
		says(kueue.WorkloadFinished, metav1.ConditionTrue),
		admits("admitted", "q", "main", ptr.To[int32](4), "8"), admits("admitted elsewhere", "r", "main", ptr.To[int32](4), "8"),
		admits("admitted unevenly", "q", "main", ptr.To[int32](4), "7"), admits("admitted with parts", "q", "main", ptr.To[int32](3), "100m"),
		admits("admitted by the spec's count", "q", "main", nil, "2"), admits("fewer admitted", "q", "main", ptr.To[int32](2), "4"),
		admits("another's admission", "q", "other", ptr.To[int32](1), "1"), admits("none admitted", "q", "main", ptr.To[int32](0), "0"),
		{"not admitted", func(w *kueue.Workload) { w.Status.Admission = nil }},
		reclaims("main", 1), reclaims("main", 3), reclaims("main", 9), reclaims("other", 1),
		{"nothing reclaimable", func(w *kueue.Workload) { w.Status.ReclaimablePods = nil }},
		checked(kueue.CheckStatePending), checked(kueue.CheckStateReady),
		checked(kueue.CheckStateReady, kueue.PodSetUpdate{Name: "main", Labels: map[string]string{"a": "b"}}),
		checked(kueue.CheckStatePending, kueue.PodSetUpdate{Name: "other"}),
		{"nominated", func(w *kueue.Workload) { w.Status.NominatedClusterNames = []string{"east"} }},
		{"bound to east", func(w *kueue.Workload) { w.Status.ClusterName = ptr.To("east") }},
		{"bound to west", func(w *kueue.Workload) { w.Status.ClusterName = ptr.To("west") }},
		{"unbound", func(w *kueue.Workload) { w.Status.ClusterName = nil }},
	}
}

var moment = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func setCondition(w *kueue.Workload, kind string, status metav1.ConditionStatus) {
	c := metav1.Condition{Type: kind, Status: status, Reason: "R", LastTransitionTime: metav1.NewTime(moment)}
	for i := range w.Status.Conditions {
		if w.Status.Conditions[i].Type == kind {
			w.Status.Conditions[i] = c
			return
		}
	}
	w.Status.Conditions = append(w.Status.Conditions, c)
}

func assigned(queue string, podSet kueue.PodSetReference, count *int32, cpu string) *kueue.Admission {
	return &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue), PodSetAssignments: []kueue.PodSetAssignment{{
		Name: podSet, Count: count, ResourceUsage: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
	}}}
}

// before are Workloads as a write may find them: each has had some of the changes.
func before() map[string]*kueue.Workload {
	fresh := func() *kueue.Workload {
		return &kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{
				Name: "w", Finalizers: []string{kueue.ResourceInUseFinalizer},
				Annotations: map[string]string{kueue.AdmissionGatedByAnnotation: "a", kueue.PriorityBoostAnnotation: "1"},
			},
			Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 4, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("2")},
				}}},
			}}}}},
		}
	}
	running := fresh()
	running.Status.Admission = assigned("q", "main", ptr.To[int32](4), "8")
	setCondition(running, kueue.WorkloadQuotaReserved, metav1.ConditionTrue)
	running.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 2}}
	running.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "c", State: kueue.CheckStateReady, LastTransitionTime: metav1.NewTime(moment)}}
	elastic := running.DeepCopy()
	elastic.Annotations[kueue.ElasticJobAnnotation] = "true"
	copied := fresh()
	copied.Labels = map[string]string{kueue.MultiKueueOriginLabel: "hub"}
	copied.Annotations[switchyard.EpochAnnotation] = "3"
	bound := running.DeepCopy()
	bound.Status.NominatedClusterNames, bound.Status.ClusterName = []string{"east"}, ptr.To("east")
	return map[string]*kueue.Workload{"waiting": fresh(), "running": running, "elastic": elastic, "a copy": copied, "bound": bound}
}

// allGates are all gates on, and those that are on by default.
func allGates() []webhook.Gates {
	return []webhook.Gates{
		{PartialAdmission: true, Elastic: true, NonNegativeResources: true, PodSetMetadata: true, SliceSize: true, AdmissionGatedBy: true, PriorityBoost: true},
		{PartialAdmission: true, NonNegativeResources: true, PodSetMetadata: true, SliceSize: true, AdmissionGatedBy: true},
	}
}

// TestNothingIsSparedTheWebhookThatItWouldRefuse is the proof, on many writes, that the match condition hides nothing: of
// each Workload above with every one and every two of the changes, what the webhook's own code refuses with all gates on, or
// with those on that are by default, the webhook is called for.
func TestNothingIsSparedTheWebhookThatItWouldRefuse(t *testing.T) {
	j := newJudge(t)
	for subresource, changes := range map[string][]change{"": metadataAndSpec(), "status": statuses()} {
		refused, spared := 0, 0
		for state, old := range before() {
			for _, first := range changes {
				for _, second := range changes {
					after := old.DeepCopy()
					first.do(after)
					second.do(after)
					called := j.calls(t, subresource, plain(t, old), plain(t, after))
					if !called {
						spared++
					}
					for _, g := range allGates() {
						if errs := g.ValidateWorkloadUpdate(old, after); len(errs) > 0 {
							refused++
							if !called {
								t.Errorf("%s, %s, %s: not asked though it says %v", state, first.name, second.name, errs)
							}
						}
					}
				}
			}
		}
		if refused == 0 || spared == 0 {
			t.Errorf("of %q the webhook refuses %d and is spared %d: this proves nothing", subresource, refused, spared)
		}
	}
}

// TestNoNewWorkloadIsSparedTheWebhookThatItWouldRefuse is the same for creations. What a hub makes may always be refused: it
// depends on what was seen before.
func TestNoNewWorkloadIsSparedTheWebhookThatItWouldRefuse(t *testing.T) {
	j := newJudge(t)
	plainly := before()["waiting"]
	plainly.Annotations = nil
	refused, spared := 0, 0
	for _, first := range append(metadataAndSpec(), templates()...) {
		for _, second := range templates() {
			after := plainly.DeepCopy()
			first.do(after)
			second.do(after)
			called := j.calls(t, "", nil, plain(t, after))
			if !called {
				spared++
			}
			for _, g := range allGates() {
				errs := g.ValidateWorkload(after)
				if len(errs) > 0 {
					refused++
				}
				if !called && (len(errs) > 0 || after.Labels[kueue.MultiKueueOriginLabel] != "") {
					t.Errorf("%s, %s: not asked though it says %v", first.name, second.name, errs)
				}
			}
		}
	}
	if refused == 0 || spared == 0 {
		t.Errorf("the webhook refuses %d and is spared %d: this proves nothing", refused, spared)
	}
}

// plain is the object as the API server has it.
func plain(t *testing.T, w *kueue.Workload) map[string]any {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}
