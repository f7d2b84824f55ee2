package leaderworkerset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/job/serving/servingtest"
	"switchyard.dev/worker/workload"
)

const (
	setName = "llm"
	setUID  = "llm-uid" // by which its StatefulSet knows it
)

type cluster = servingtest.Cluster

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	return newClusterWith(t, nil, objects...)
}

func newClusterWith(t *testing.T, configure func(*job.Options), objects ...client.Object) *cluster {
	t.Helper()
	return servingtest.NewCluster(t, servingtest.Reconcilable{
		Types: lwsv1.AddToScheme,
		Index: func(b *fake.ClientBuilder) {
			for _, i := range indexes() {
				b.WithIndex(i.Of, i.Name, i.By)
			}
		},
		New: func(o job.Options, c client.Client, cache, live client.Reader, recorder events.EventRecorder) reconcile.Reconciler {
			return &reconciler{serving.NewBase(Kind(), o, c, cache, live, recorder)}
		},
		WithStatus: []client.Object{&lwsv1.LeaderWorkerSet{}, &appsv1.StatefulSet{}, &corev1.Pod{}},
	}, configure, objects...)
}

type change = func(*lwsv1.LeaderWorkerSet)

// written is a set of two groups of three pods as a user writes it, after changes.
func written(changes ...change) *lwsv1.LeaderWorkerSet {
	set := &lwsv1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: setName, UID: setUID, Labels: map[string]string{kueue.QueueNameLabel: "main"},
	}}
	set.Spec.Replicas = new(int32(2))
	set.Spec.LeaderWorkerTemplate.Size = new(int32(3))
	set.Spec.LeaderWorkerTemplate.WorkerTemplate = template("worker")
	for _, change := range changes {
		change(set)
	}
	return set
}

func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: name, Image: "llm:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}}}
}

func withLeader(s *lwsv1.LeaderWorkerSet) {
	leader := template("leader")
	s.Spec.LeaderWorkerTemplate.LeaderTemplate = &leader
}

func scaled(n int32) change { return func(s *lwsv1.LeaderWorkerSet) { s.Spec.Replicas = &n } }

func sized(n int32) change {
	return func(s *lwsv1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.Size = &n }
}

func unqueued(s *lwsv1.LeaderWorkerSet) { delete(s.Labels, kueue.QueueNameLabel) }

// newSet is a set as the webhook leaves it.
func newSet(changes ...change) *lwsv1.LeaderWorkerSet {
	set := written(changes...)
	mark(set, job.DefaultGates())
	return set
}

// nameOf is the name of the Workload of a group of the set with that UID.
func nameOf(uid string, group int) string {
	return job.WorkloadName(gvk(), fmt.Sprintf("%s-%d", setName, group), types.UID(uid), false)
}

func controlledBy(kind, name string) []metav1.OwnerReference {
	version := map[string]string{"Pod": "v1", "StatefulSet": "apps/v1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1"}[kind]
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID(name + "-uid"), Controller: new(true)}}
}

// newPod is a pod of a group as the webhooks of pods leave it; worker 0 is the leader.
func newPod(group, worker int, changes ...func(*corev1.Pod)) *corev1.Pod {
	leader := fmt.Sprintf("%s-%d", setName, group)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: leader, UID: types.UID(leader + "-uid"),
		Labels: map[string]string{
			lwsv1.SetNameLabelKey: setName, lwsv1.GroupIndexLabelKey: fmt.Sprint(group), appsv1.ControllerRevisionHashLabelKey: "r1",
			kueue.QueueNameLabel: "main",
		},
		Annotations: map[string]string{
			kueue.PodSuspendingParentAnnotation: Name, kueue.PodGroupServingAnnotation: "true", kueue.RoleHashAnnotation: "1a2b3c4d",
		},
		OwnerReferences: controlledBy("StatefulSet", setName),
	}}
	if worker > 0 {
		pod.Name, pod.UID = fmt.Sprintf("%s-%d", leader, worker), types.UID(fmt.Sprintf("%s-%d-uid", leader, worker))
		pod.Annotations[lwsv1.LeaderPodNameAnnotationKey] = leader
		pod.OwnerReferences = controlledBy("StatefulSet", leader)
	}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}, {Name: kueue.TopologySchedulingGate}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// leaders is the StatefulSet of the leaders, workers that of the workers of a group.
func leaders() *appsv1.StatefulSet {
	return newStatefulSet(setName, controlledBy("LeaderWorkerSet", setName))
}

func workers(group int) *appsv1.StatefulSet {
	name := fmt.Sprintf("%s-%d", setName, group)
	return newStatefulSet(name, controlledBy("Pod", name))
}

func newStatefulSet(name string, owners []metav1.OwnerReference) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: name, UID: types.UID(name + "-uid"), OwnerReferences: owners,
		Labels: map[string]string{lwsv1.SetNameLabelKey: setName},
	}}
}

func running(pod *corev1.Pod) { pod.Spec.SchedulingGates, pod.Status.Phase = nil, corev1.PodRunning }

func highClass() *kueue.WorkloadPriorityClass {
	return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
}

func TestEachGroupGetsItsWorkload(t *testing.T) {
	c := newClusterWith(t, func(o *job.Options) { o.LabelKeysToCopy = []string{"team"} }, newSet(withLeader, func(s *lwsv1.LeaderWorkerSet) {
		s.Labels["team"] = "a"
		worker := &s.Spec.LeaderWorkerTemplate.WorkerTemplate
		worker.Labels = map[string]string{"app": "x", lwsv1.SetNameLabelKey: setName, lwsv1.GroupIndexLabelKey: "0", kueue.QueueNameLabel: "foreign"}
		worker.Annotations = map[string]string{lwsv1.SizeAnnotationKey: "3", "note": "x"}
		worker.Spec.PriorityClassName = "pods"
	}), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Value: 7})
	c.WantWrites(setName, "create Workload "+nameOf(setUID, 0), "create Workload "+nameOf(setUID, 1))
	c.WantEvents("Normal CreatedWorkload Created Workload: team/"+nameOf(setUID, 0), "Normal CreatedWorkload Created Workload: team/"+nameOf(setUID, 1))
	got := servingtest.Find(c, &kueue.Workload{}, nameOf(setUID, 1))
	leader, worker := template("leader"), template("worker")
	leader.Labels = map[string]string{kueue.QueueNameLabel: "main"}
	leader.Annotations = map[string]string{kueue.PodSuspendingParentAnnotation: Name, kueue.PodGroupServingAnnotation: "true"}
	worker.Labels = map[string]string{"app": "x", lwsv1.SetNameLabelKey: setName, kueue.QueueNameLabel: "main"}
	worker.Annotations = map[string]string{
		kueue.PodSuspendingParentAnnotation: Name, kueue.PodGroupServingAnnotation: "true", kueue.PodIndexOffsetAnnotation: "1", "note": "x",
	}
	worker.Spec.PriorityClassName = "pods"
	want := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: nameOf(setUID, 1), Namespace: servingtest.Namespace,
			Labels: map[string]string{"team": "a", kueue.JobUIDLabel: setUID},
			Annotations: map[string]string{
				kueue.IsGroupWorkloadAnnotation: "true", kueue.JobOwnerGVKAnnotation: "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
				kueue.JobOwnerNameAnnotation: setName, kueue.ComponentWorkloadIndexAnnotation: "1",
			},
			Finalizers:      []string{kueue.ResourceInUseFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: setName, UID: setUID}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "main", Priority: new(int32(7)),
			PriorityClassRef: &kueue.PriorityClassRef{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: "pods"},
			PodSets: []kueue.PodSet{
				{Name: "leader", Count: 1, Template: leader}, {Name: "worker", Count: 2, Template: worker},
			},
		},
	}
	got.ResourceVersion, got.UID = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workload differs (-want +got):\n%s", diff)
	}
}

func TestWhatAGroupAsksFor(t *testing.T) {
	for name, c := range map[string]struct {
		set  *lwsv1.LeaderWorkerSet
		want string
	}{
		"pods that are alike":              {written(), "main 3"},
		"a leader and its workers":         {written(withLeader), "leader 1, worker 2"},
		"a leader alone":                   {written(withLeader, sized(1)), "leader 1, worker 0"},
		"one pod if nothing is said":       {written(func(s *lwsv1.LeaderWorkerSet) { s.Spec.LeaderWorkerTemplate.Size = nil }), "main 1"},
		"nothing can be told of no pods":   {written(sized(0)), ""},
		"nor of fewer":                     {written(withLeader, sized(-5)), ""},
		"as many as can be counted":        {written(withLeader, sized(1<<31-1)), "leader 1, worker 2147483646"},
		"as many as can be counted, alike": {written(sized(1<<31 - 1)), "main 2147483647"},
	} {
		sets, err := podSets(c.set)
		var got []string
		for i := range sets {
			got = append(got, fmt.Sprintf("%s %d", sets[i].Name, sets[i].Count))
		}
		if text := strings.Join(got, ", "); text != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestHowManyGroupsASetHas(t *testing.T) {
	surge := func(by string) change {
		return func(s *lwsv1.LeaderWorkerSet) {
			s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{MaxSurge: intstr.Parse(by)}
		}
	}
	status := func(replicas, updated int32) change {
		return func(s *lwsv1.LeaderWorkerSet) { s.Status.Replicas, s.Status.UpdatedReplicas = replicas, updated }
	}
	for name, c := range map[string]struct {
		set  *lwsv1.LeaderWorkerSet
		want int
	}{
		"as many as it asks for":               {written(), 2},
		"one if it asks for none in words":     {written(func(s *lwsv1.LeaderWorkerSet) { s.Spec.Replicas = nil }), 1},
		"none":                                 {written(scaled(0)), 0},
		"none instead of fewer":                {written(scaled(-3)), 0},
		"no more than a million":               {written(scaled(1 << 30)), 1_000_000},
		"one more while a rollout adds it":     {written(surge("1"), status(3, 1)), 3},
		"or a part of them":                    {written(surge("50%"), status(3, 1)), 3},
		"not when the rollout is over":         {written(surge("1"), status(3, 2)), 2},
		"not when rollouts add none":           {written(surge("0"), status(3, 1)), 2},
		"not without a word about it":          {written(status(3, 1)), 2},
		"not when it is not a number":          {written(surge("many"), status(3, 1)), 2},
		"no more than a million in a rollout":  {written(surge("1"), status(1<<30, 1)), 1_000_000},
		"not fewer while groups are yet to be": {written(surge("1"), status(1, 1)), 2},
	} {
		if got := groupCount(c.set); got != c.want {
			t.Errorf("%s: %d groups, want %d", name, got, c.want)
		}
	}
}

func TestGroupsComeAndGo(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, scaled(3))
	c.WantWrites(setName, "create Workload "+nameOf(setUID, 2))
	c.Events()
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, scaled(1))
	c.WantWrites(setName, "delete Workload "+nameOf(setUID, 1), "delete Workload "+nameOf(setUID, 2),
		"patch Workload "+nameOf(setUID, 1), "patch Workload "+nameOf(setUID, 2))
	c.WantEvents("Normal DeletedWorkload Deleted not matching Workload: team/"+nameOf(setUID, 1), "Normal DeletedWorkload Deleted not matching Workload: team/"+nameOf(setUID, 2))
}

func TestASurplusWorkloadStaysUntilItsPodsAreGone(t *testing.T) {
	name := nameOf(setUID, 1)
	c := newCluster(t, newSet(), leaders(), newPod(1, 0, running, func(p *corev1.Pod) { p.Annotations[kueue.PrebuiltWorkloadNameKey] = name }))
	c.Settle(setName)
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, scaled(1))
	c.WantWrites(setName, "delete Workload "+name)
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, scaled(2))
	c.WantWrites(setName)
	c.NoError(c.Delete(context.Background(), newPod(1, 0)))
	c.WantWrites(setName, "patch Workload "+name, "create Workload "+name)
}

func TestManyGroupsAreMadeInPortions(t *testing.T) {
	c := newCluster(t, newSet(scaled(120)))
	if result := c.Look(setName); len(c.Workloads()) != 50 || result.RequeueAfter != 100*time.Millisecond {
		t.Errorf("%d workloads, looks again after %v", len(c.Workloads()), result.RequeueAfter)
	}
	c.Settle(setName)
	if n := len(c.Workloads()); n != 120 {
		t.Errorf("%d workloads", n)
	}
}

func TestWhatFollowsTheSet(t *testing.T) {
	c := newCluster(t, newSet(func(s *lwsv1.LeaderWorkerSet) {
		s.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "a.b/c"}
	}), highClass())
	c.Settle(setName)
	c.Admit(servingtest.Find(c, &kueue.Workload{}, nameOf(setUID, 0)))
	c.Events()
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, func(s *lwsv1.LeaderWorkerSet) {
		s.Labels[kueue.QueueNameLabel], s.Labels[kueue.PriorityClassLabel], s.Annotations = "other", "high", nil
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "llm:2"
	})
	c.WantWrites(setName, "patch Workload "+nameOf(setUID, 0), "patch Workload "+nameOf(setUID, 1))
	for group, queue := range map[int]kueue.LocalQueueName{0: "main", 1: "other"} {
		wl := servingtest.Find(c, &kueue.Workload{}, nameOf(setUID, group))
		if wl.Spec.QueueName != queue || *wl.Spec.Priority != 1000 || len(workload.AdmissionGates(wl)) > 0 {
			t.Errorf("group %d: queue %s, priority %d, gates %v", group, wl.Spec.QueueName, *wl.Spec.Priority, workload.AdmissionGates(wl))
		}
		if wl.Spec.PodSets[0].Template.Spec.Containers[0].Image != "llm:1" {
			t.Errorf("group %d: its pod sets have changed", group)
		}
	}
}

func TestPodsThatRunFollowTheClassBeforeTheirWorkloadDoes(t *testing.T) {
	low := &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: 1}
	c := newCluster(t, newSet(scaled(1), func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.PriorityClassLabel] = "low" }), highClass(), low, leaders(),
		newPod(0, 0, running, func(p *corev1.Pod) {
			p.Annotations[kueue.PrebuiltWorkloadNameKey], p.Labels[kueue.PriorityClassLabel] = nameOf(setUID, 0), "low"
		}))
	c.Settle(setName)
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.PriorityClassLabel] = "high" })
	c.WantWrites(setName, "patch Pod llm-0", "patch Workload "+nameOf(setUID, 0))
	if got := servingtest.Find(c, &corev1.Pod{}, "llm-0").Labels[kueue.PriorityClassLabel]; got != "high" {
		t.Errorf("the pod has class %q", got)
	}
}

func TestPodsJoinTheirGroups(t *testing.T) {
	c := newCluster(t, newSet(withLeader), leaders(), workers(0), newPod(0, 0), newPod(0, 1), newPod(1, 0, func(p *corev1.Pod) {
		delete(p.Labels, lwsv1.GroupIndexLabelKey)
	}))
	c.WantWrites(setName, "patch Pod llm-0", "patch Pod llm-0-1", "create Workload "+nameOf(setUID, 0), "create Workload "+nameOf(setUID, 1))
	for name, role := range map[string]string{"llm-0": "leader", "llm-0-1": "worker"} {
		pod := servingtest.Find(c, &corev1.Pod{}, name)
		want := map[string]string{
			kueue.PodSuspendingParentAnnotation: Name, kueue.PodGroupServingAnnotation: "true", kueue.RoleHashAnnotation: role,
			kueue.PrebuiltWorkloadNameKey: nameOf(setUID, 0), kueue.PodGroupNameKey: nameOf(setUID, 0), kueue.PodGroupTotalCountAnnotation: "3",
		}
		delete(pod.Annotations, lwsv1.LeaderPodNameAnnotationKey)
		if diff := cmp.Diff(want, pod.Annotations); diff != "" {
			t.Errorf("annotations of %s differ (-want +got):\n%s", name, diff)
		}
		if pod.Labels[kueue.ManagedLabel] != "true" || len(pod.Spec.SchedulingGates) != 2 || len(pod.Finalizers) > 0 {
			t.Errorf("%s: labels %v, gates %v", name, pod.Labels, pod.Spec.SchedulingGates)
		}
	}
}

func TestPodsThatAreAlikeHaveOneRole(t *testing.T) {
	c := newCluster(t, newSet(), leaders(), workers(0), newPod(0, 0), newPod(0, 1))
	c.Settle(setName)
	for _, name := range []string{"llm-0", "llm-0-1"} {
		if got := servingtest.Find(c, &corev1.Pod{}, name).Annotations[kueue.RoleHashAnnotation]; got != "main" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func TestACopyHasTheWorkloadsOfItsHub(t *testing.T) {
	c := newCluster(t, newSet(func(s *lwsv1.LeaderWorkerSet) {
		s.Labels[kueue.MultiKueueOriginLabel] = "hub"
		s.Annotations = map[string]string{kueue.MultiKueueOriginUIDAnnotation: "hub-uid"}
	}), leaders(), newPod(1, 0))
	c.WantWrites(setName, "patch Pod llm-1")
	if got := servingtest.Find(c, &corev1.Pod{}, "llm-1").Annotations[kueue.PodGroupNameKey]; got != nameOf("hub-uid", 1) {
		t.Errorf("pods are of %s, want %s", got, nameOf("hub-uid", 1))
	}
}

func TestWhichSetsAreLeftAlone(t *testing.T) {
	for name, set := range map[string]*lwsv1.LeaderWorkerSet{
		"one without a queue":              newSet(unqueued),
		"one that the webhook did not see": written(),
		"one of no groups":                 newSet(scaled(0)),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, set)
			c.WantWrites(setName)
		})
	}
}

func TestASetWhoseGroupsHaveNoPods(t *testing.T) {
	c := newCluster(t, newSet(sized(0)), leaders(), newPod(0, 0))
	c.WantWrites(setName)
	if got := c.Events()[0]; got != "Warning ErrWorkloadCompose spec.leaderWorkerTemplate.size: a group has at least one pod, not 0" {
		t.Error(got)
	}
}

func TestASetWaitsForItsPriorityClass(t *testing.T) {
	c := newCluster(t, newSet(func(s *lwsv1.LeaderWorkerSet) { s.Labels[kueue.PriorityClassLabel] = "high" }))
	c.WantWrites(setName)
	if got := c.Events(); got[0] != `Warning WorkloadPriorityClassNotFound WorkloadPriorityClass "high" not found` {
		t.Error(got)
	}
	c.NoError(c.Create(context.Background(), highClass()))
	base := serving.NewBase(Kind(), c.Options, c.Client, c.Client, c.Client, nil)
	woken := base.RequestsForClass(context.Background(), highClass())
	if len(woken) != 1 || woken[0].Name != setName {
		t.Errorf("the class wakes %v", woken)
	}
	c.Settle(setName)
	if n := len(c.Workloads()); n != 2 {
		t.Errorf("%d workloads", n)
	}
}

func TestWhichPodsNeedNotWait(t *testing.T) {
	rollout := func(s *appsv1.StatefulSet) *appsv1.StatefulSet {
		s.Status.CurrentRevision, s.Status.UpdateRevision = "r1", "r2"
		return s
	}
	orphaned := func(s *appsv1.StatefulSet) *appsv1.StatefulSet { s.OwnerReferences = nil; return s }
	from := func(n int32) change {
		return func(s *lwsv1.LeaderWorkerSet) {
			s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{Partition: &n}
		}
	}
	another := func(s *lwsv1.LeaderWorkerSet) { s.UID = "another" }
	all := func(objects ...client.Object) []client.Object { return objects }
	for name, c := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"those of a set wait":                        {objects: all(newSet(), leaders(), workers(0))},
		"the set is gone":                            {objects: all(leaders(), workers(0)), want: []string{"llm-0", "llm-0-1", "llm-1"}},
		"another set has its name":                   {objects: all(newSet(another), leaders(), workers(0)), want: []string{"llm-0", "llm-0-1", "llm-1"}},
		"it left its pods behind":                    {objects: all(orphaned(leaders()), workers(0))},
		"the StatefulSet of the workers is gone":     {objects: all(newSet(), leaders()), want: []string{"llm-0-1"}},
		"the StatefulSet of the leaders is gone":     {objects: all(newSet(), workers(0)), want: []string{"llm-0", "llm-0-1", "llm-1"}},
		"a rollout of the leaders":                   {objects: all(newSet(), rollout(leaders()), workers(0)), want: []string{"llm-0", "llm-1"}},
		"a rollout of the workers":                   {objects: all(newSet(), leaders(), rollout(workers(0))), want: []string{"llm-0-1"}},
		"a rollout that replaces the last group":     {objects: all(newSet(from(1)), rollout(leaders()), rollout(workers(0))), want: []string{"llm-1"}},
		"a rollout that replaces none for the while": {objects: all(newSet(from(9)), rollout(leaders()), workers(0))},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, append(c.objects, newPod(0, 0), newPod(0, 1), newPod(1, 0))...)
			cl.Settle(setName)
			var free []string
			for _, name := range []string{"llm-0", "llm-0-1", "llm-1"} {
				if len(servingtest.Find(cl, &corev1.Pod{}, name).Spec.SchedulingGates) == 0 {
					free = append(free, name)
				}
			}
			if diff := cmp.Diff(c.want, free); diff != "" {
				t.Errorf("ungated pods differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatTheCacheDoesNotShowIsNotGone(t *testing.T) {
	c := newCluster(t, newSet(), leaders(), newPod(0, 0))
	c.Hidden = func(obj client.Object) bool { _, ok := obj.(*appsv1.StatefulSet); return ok }
	c.Settle(setName)
	if len(servingtest.Find(c, &corev1.Pod{}, "llm-0").Spec.SchedulingGates) == 0 {
		t.Error("the pod was ungated")
	}
}

func TestAPodOfNobodyWaits(t *testing.T) {
	c := newCluster(t, newPod(0, 0, func(p *corev1.Pod) { p.OwnerReferences = nil }))
	c.WantWrites(setName)
}

func TestARefusedWorkloadIsMadeAnew(t *testing.T) {
	c := newCluster(t, newSet(), leaders())
	c.Settle(setName)
	name := nameOf(setUID, 0)
	c.ApplyStatus(servingtest.Find(c, &kueue.Workload{}, name), func(wl *kueue.Workload) { workload.Finish(wl, kueue.ReasonOutOfSync, "", c.Clock.Now()) })
	c.WantWrites(setName)
	servingtest.Change(c, &lwsv1.LeaderWorkerSet{}, setName, sized(4))
	c.WantWrites(setName, "delete Workload "+name, "patch Workload "+name, "create Workload "+name)
	if got := servingtest.Find(c, &kueue.Workload{}, name).Spec.PodSets[0].Count; got != 4 {
		t.Errorf("asks for %d pods", got)
	}
}

func TestWorkloadsOfAnEarlierSetAreLeftToTheGarbageCollector(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	c.NoError(c.Delete(context.Background(), newSet()))
	c.NoError(c.Create(context.Background(), newSet(func(s *lwsv1.LeaderWorkerSet) { s.UID = "second" })))
	c.WantWrites(setName, "create Workload "+nameOf("second", 0), "create Workload "+nameOf("second", 1))
	c.NoError(c.Delete(context.Background(), servingtest.Find(c, &kueue.Workload{}, nameOf(setUID, 0)))) // as the garbage collector does
	c.WantWrites(setName, "patch Workload "+nameOf(setUID, 0))
}

func TestAWorkloadWhoseIndexWasForgedIsMadeAnew(t *testing.T) {
	c := newCluster(t, newSet(scaled(1)))
	c.Settle(setName)
	name := nameOf(setUID, 0)
	servingtest.Change(c, &kueue.Workload{}, name, func(wl *kueue.Workload) { wl.Annotations[kueue.ComponentWorkloadIndexAnnotation] = "7" })
	writes := c.Settle(setName)
	if !slices.Contains(writes, "delete Workload "+name) || servingtest.Find(c, &kueue.Workload{}, name).Annotations[kueue.ComponentWorkloadIndexAnnotation] != "0" {
		t.Errorf("writes are %q", writes)
	}
}

func TestAWorkloadThatIsControlledIsNeverTouched(t *testing.T) {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: "of-a-job", Finalizers: []string{kueue.ResourceInUseFinalizer},
		OwnerReferences: append(controlledBy("Pod", "x"), metav1.OwnerReference{
			APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: setName, UID: setUID,
		}),
	}}
	c := newCluster(t, newSet(scaled(0)), wl)
	c.WantWrites(setName)
	c.NoError(c.Delete(context.Background(), wl))
	c.WantWrites(setName)
}

func TestOneFailureDoesNotHoldUpTheRest(t *testing.T) {
	other := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: nameOf(setUID, 0)}}
	other.OwnerReferences = controlledBy("Pod", "x")
	c := newCluster(t, newSet(), other, leaders(), newPod(1, 0))
	if _, err := c.TryLook(setName); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error is %v", err)
	}
	if servingtest.Find(c, &corev1.Pod{}, "llm-1").Labels[kueue.ManagedLabel] != "true" {
		t.Error("the pod has not joined")
	}
}
