package leaderworkerset

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/job/serving/servingtest"
)

type webhook = servingtest.Webhook[*lwsv1.LeaderWorkerSet]

func newWebhook() webhook { return webhook{Kind: Kind(), Options: servingtest.Options()} }

func FuzzWebhook(f *testing.F) { servingtest.FuzzWebhook(f, newWebhook()) }

func annotateWorker(key, value string) change {
	return func(s *lwsv1.LeaderWorkerSet) {
		metav1.SetMetaDataAnnotation(&s.Spec.LeaderWorkerTemplate.WorkerTemplate.ObjectMeta, key, value)
	}
}

func annotateLeader(key, value string) change {
	return func(s *lwsv1.LeaderWorkerSet) {
		metav1.SetMetaDataAnnotation(&s.Spec.LeaderWorkerTemplate.LeaderTemplate.ObjectMeta, key, value)
	}
}

func TestPodsOfAManagedSetWait(t *testing.T) {
	classy := func(s *lwsv1.LeaderWorkerSet) {
		s.Labels[kueue.PriorityClassLabel] = "high"
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Labels = map[string]string{"app": "x", kueue.QueueNameLabel: "foreign"}
	}
	marks := map[string]string{kueue.PodSuspendingParentAnnotation: Name, kueue.PodGroupServingAnnotation: "true"}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		for k, v := range marks {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for name, c := range map[string]struct {
		set          *lwsv1.LeaderWorkerSet
		noTopology   bool
		leader, work map[string]string
	}{
		"pods that are alike":      {set: written(classy), work: with()},
		"a leader and its workers": {set: written(classy, withLeader), leader: with(), work: with(kueue.PodIndexOffsetAnnotation, "1")},
		"where nothing is placed":  {set: written(classy, withLeader), noTopology: true, leader: with(), work: with()},
		"that are placed together": {
			set: written(classy, withLeader, annotateWorker(kueue.PodSetGroupNameAnnotation, "g")), leader: with(),
			work: with(kueue.PodSetGroupNameAnnotation, "g"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook()
			w.Options.Gates.Topology = !c.noTopology
			of := w.Create(t, c.set).Spec.LeaderWorkerTemplate
			if diff := cmp.Diff(c.work, of.WorkerTemplate.Annotations); diff != "" {
				t.Errorf("annotations of workers differ (-want +got):\n%s", diff)
			}
			want := map[string]string{"app": "x", kueue.QueueNameLabel: "main", kueue.PriorityClassLabel: "high"}
			if diff := cmp.Diff(want, of.WorkerTemplate.Labels); diff != "" {
				t.Errorf("labels of workers differ (-want +got):\n%s", diff)
			}
			if c.leader == nil {
				return
			}
			if diff := cmp.Diff(c.leader, of.LeaderTemplate.Annotations); diff != "" {
				t.Errorf("annotations of leaders differ (-want +got):\n%s", diff)
			}
			delete(want, "app")
			if diff := cmp.Diff(want, of.LeaderTemplate.Labels); diff != "" {
				t.Errorf("labels of leaders differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASetThatIsNotManagedStaysAsItIs(t *testing.T) {
	set := written(withLeader, unqueued)
	if diff := cmp.Diff(set, newWebhook().Create(t, set)); diff != "" {
		t.Errorf("it is changed:\n%s", diff)
	}
}

func TestWhatANewSetMustNotSay(t *testing.T) {
	const worker, leader = "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations", "spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations"
	together := kueue.PodSetGroupNameAnnotation
	for name, c := range map[string]struct {
		set  *lwsv1.LeaderWorkerSet
		want string
	}{
		"nothing is wrong": {set: written()},
		"fewer groups than none": {
			set: written(scaled(-1)), want: `spec.replicas: Invalid value: -1: invalid LeaderWorkerSet replicas: must be >= 0, got -1`,
		},
		"a million":      {set: written(scaled(1_000_000))},
		"more than that": {set: written(scaled(1_000_001)), want: `spec.replicas: Invalid value: 1000001: invalid LeaderWorkerSet replicas: must be <= 1000000, got 1000001`},
		"so for one that is not managed": {
			set: written(unqueued, scaled(-1)), want: `spec.replicas: Invalid value: -1: invalid LeaderWorkerSet replicas: must be >= 0, got -1`,
		},
		"that it is elastic": {
			set:  written(func(s *lwsv1.LeaderWorkerSet) { s.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"} }),
			want: `metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported for "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"`,
		},
		"slices greater than the group": {
			set:  written(annotateWorker(kueue.PodSetSliceRequiredTopologyAnnotation, "rack"), annotateWorker(kueue.PodSetSliceSizeAnnotation, "4")),
			want: worker + `[kueue.x-k8s.io/podset-slice-size]: Invalid value: "4": must not be greater than pod set count 3`,
		},
		"slices greater than the workers": {
			set:  written(withLeader, annotateWorker(kueue.PodSetSliceRequiredTopologyAnnotation, "rack"), annotateWorker(kueue.PodSetSliceSizeAnnotation, "3")),
			want: worker + `[kueue.x-k8s.io/podset-slice-size]: Invalid value: "3": must not be greater than pod set count 2`,
		},
		"a leader and workers together": {
			set: written(withLeader, annotateWorker(together, "g"), annotateWorker(kueue.PodSetRequiredTopologyAnnotation, "rack"),
				annotateLeader(together, "g"), annotateLeader(kueue.PodSetRequiredTopologyAnnotation, "rack")),
		},
		"workers together with nobody": {
			set:  written(withLeader, annotateWorker(together, "g"), annotateWorker(kueue.PodSetRequiredTopologyAnnotation, "rack")),
			want: worker + `[kueue.x-k8s.io/podset-group-name]: Invalid value: "g": can only define groups of exactly 2 pod sets, got: 1 pod set(s)`,
		},
		"a leader that is placed otherwise": {
			set:  written(withLeader, annotateLeader(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe")),
			want: leader + `[kueue.x-k8s.io/podset-unconstrained-topology]: Invalid value: "maybe": must be a boolean value`,
		},
		"nothing is said of topology where nobody knows the size": {set: written(sized(0), annotateWorker(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe"))},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newWebhook().RefusesCreate(t, c.set)); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatMayChangeOfASet(t *testing.T) {
	type changes = []change
	cpu := func(of func(*lwsv1.LeaderWorkerSet) *corev1.PodTemplateSpec) change {
		return func(s *lwsv1.LeaderWorkerSet) {
			of(s).Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		}
	}
	ofWorker := func(s *lwsv1.LeaderWorkerSet) *corev1.PodTemplateSpec {
		return &s.Spec.LeaderWorkerTemplate.WorkerTemplate
	}
	ofLeader := func(s *lwsv1.LeaderWorkerSet) *corev1.PodTemplateSpec {
		return s.Spec.LeaderWorkerTemplate.LeaderTemplate
	}
	unmarked := func(s *lwsv1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.WorkerTemplate.Annotations = nil }
	ready := func(s *lwsv1.LeaderWorkerSet) { s.Status.ReadyReplicas = 1 }
	for name, c := range map[string]struct {
		old, now changes
		free     bool
		want     string
	}{
		"the number of groups": {now: changes{scaled(9)}},
		"to less than none":    {now: changes{scaled(-9)}, want: `spec.replicas: Invalid value: -9: invalid LeaderWorkerSet replicas: must be >= 0, got -9`},
		"the image": {now: changes{func(s *lwsv1.LeaderWorkerSet) {
			s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "llm:2"
		}}},
		"what workers ask for": {
			now:  changes{cpu(ofWorker)},
			want: `spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources.requests: Invalid value: {"cpu":"2"}: field is immutable`,
		},
		"what the leader asks for": {
			old: changes{withLeader}, now: changes{withLeader, cpu(ofLeader)},
			want: `spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].resources.requests: Invalid value: {"cpu":"2"}: field is immutable`,
		},
		"a leader comes": {now: changes{withLeader}, want: `spec.leaderWorkerTemplate.leaderTemplate: Invalid value: field is immutable`},
		"a leader goes":  {old: changes{withLeader}, want: `spec.leaderWorkerTemplate.leaderTemplate: Invalid value: field is immutable`},
		"the size":       {now: changes{sized(4)}, want: `spec.leaderWorkerTemplate.size: Invalid value: 4: field is immutable`},
		"the size in other words": {
			old: changes{sized(1)}, now: changes{func(s *lwsv1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.Size = nil }},
		},
		"the size without its gate":          {now: changes{sized(4)}, free: true},
		"anything of one that does not wait": {old: changes{unmarked, unqueued}, now: changes{unmarked, unqueued, sized(4), cpu(ofWorker), withLeader}},
		"the queue of one that runs": {
			old: changes{ready}, now: changes{ready, func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.QueueNameLabel] = "b" }},
			want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "b": field is immutable`,
		},
		"a place that contradicts itself": {
			now:  changes{annotateWorker(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe")},
			want: `spec.leaderWorkerTemplate.workerTemplate.metadata.annotations[kueue.x-k8s.io/podset-unconstrained-topology]: Invalid value: "maybe": must be a boolean value`,
		},
		"something else where a place contradicts itself already": {
			old: changes{annotateWorker(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe")},
			now: changes{annotateWorker(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe"), scaled(9)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook()
			w.Options.Gates.ImmutableGroupSize = !c.free
			if diff := cmp.Diff(c.want, w.RefusesUpdate(t, marked(c.old...), marked(c.now...))); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

// marked is a set that was marked before the changes.
func marked(changes ...change) *lwsv1.LeaderWorkerSet {
	set := newSet()
	for _, change := range changes {
		change(set)
	}
	return set
}

// FuzzReconcile lets the reconciler look at a set, a pod and a Workload with anything in them: it answers, keeps its laws, and changes
// nothing twice.
func FuzzReconcile(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		filler := servingtest.NewFiller(seed)
		set, pod, wl := &lwsv1.LeaderWorkerSet{}, &corev1.Pod{}, &kueue.Workload{}
		filler.Fill(set)
		filler.Fill(pod)
		filler.Fill(wl)
		set.Namespace, pod.Namespace, wl.Namespace = servingtest.Namespace, servingtest.Namespace, servingtest.Namespace
		set.UID, wl.OwnerReferences = "uid", append(wl.OwnerReferences, metav1.OwnerReference{UID: "uid"})
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: kueue.AdmissionSchedulingGate})
		pod.DeletionTimestamp, pod.Status.Phase = nil, ""
		metav1.SetMetaDataLabel(&pod.ObjectMeta, lwsv1.GroupIndexLabelKey, "3")
		for _, i := range indexes() {
			for _, obj := range []client.Object{set, pod, wl} {
				i.By(obj)
			}
		}
		c := newCluster(t)
		r := &reconciler{serving.NewBase(Kind(), c.Options, c.Client, c.Client, c.Client, nil)}
		s := &snapshot{set: set, pods: []*corev1.Pod{pod}}
		s.facts.Managed, s.facts.Groups = true, min(groupCount(set), 100)
		s.podSets, _ = podSets(set)
		facts, _, err := r.observeWorkload(context.Background(), s, wl)
		if err != nil {
			t.Fatal(err)
		}
		s.facts.Workloads = []Workload{facts}
		checkLaws(t, s.facts, Step(s.facts))
		if s.podFacts, err = r.observePods(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		for _, change := range stepPods(s.podFacts, set, c.Options.Gates) {
			if change.Joined != nil && len(stepPods([]podFacts{{pod: change.Joined}}, set, c.Options.Gates)) > 0 {
				t.Error("a pod is changed once more")
			}
		}
	})
}
