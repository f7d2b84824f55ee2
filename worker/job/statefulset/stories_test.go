package statefulset

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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/serving"
	"switchyard.dev/worker/job/serving/servingtest"
	"switchyard.dev/worker/workload"
)

const setName = "db"

type cluster = servingtest.Cluster

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	return newClusterWith(t, nil, objects...)
}

func newClusterWith(t *testing.T, configure func(*job.Options), objects ...client.Object) *cluster {
	t.Helper()
	return servingtest.NewCluster(t, servingtest.Reconcilable{
		Types: appsv1.AddToScheme,
		Index: func(b *fake.ClientBuilder) {
			for _, i := range indexes() {
				b.WithIndex(i.Of, i.Name, i.By)
			}
		},
		New: func(o job.Options, c client.Client, cache, live client.Reader, recorder events.EventRecorder) reconcile.Reconciler {
			return &reconciler{serving.NewBase(Kind(), o, c, cache, live, recorder)}
		},
		WithStatus: []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}},
	}, configure, objects...)
}

// newSet is a set of three pods as the webhook leaves it, after changes.
func newSet(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := written(changes...)
	Kind().Mark(set, job.DefaultGates())
	return set
}

// newPod is a pod of the set as the webhook of pods leaves it, after changes.
func newPod(ordinal int, changes ...func(*corev1.Pod)) *corev1.Pod {
	yes := true
	name := fmt.Sprintf("%s-%d", setName, ordinal)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: name, UID: types.UID("uid-of-" + name),
		Labels:          map[string]string{"app": setName, appsv1.ControllerRevisionHashLabelKey: "r1"},
		Annotations:     map[string]string{kueue.PodSuspendingParentAnnotation: Name, kueue.RoleHashAnnotation: "1a2b3c4d"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: setName, UID: "set-uid", Controller: &yes}},
	}}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}, {Name: kueue.TopologySchedulingGate}, {Name: "example.com/other"}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func running(pod *corev1.Pod) {
	pod.Spec.SchedulingGates, pod.Status.Phase = nil, corev1.PodRunning
}

func scaled(n int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n }
}

func TestASetGetsItsWorkload(t *testing.T) {
	c := newClusterWith(t, func(o *job.Options) { o.LabelKeysToCopy = []string{"team"} }, newSet(func(s *appsv1.StatefulSet) {
		s.Labels["team"] = "a"
		s.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "a.b/c"}
		s.Spec.Template.Labels = map[string]string{"not": "copied"}
		s.Spec.Template.Spec.PriorityClassName = "pods"
	}), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Value: 7})
	name := "statefulset-db-" + hash(t, "set-uid")
	c.WantWrites(setName, "create Workload "+name)
	c.WantEvents("Normal CreatedWorkload Created Workload: team/" + name)
	got := c.Workload()
	want := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: servingtest.Namespace,
			Labels: map[string]string{"team": "a", kueue.JobUIDLabel: "set-uid"},
			Annotations: map[string]string{
				kueue.IsGroupWorkloadAnnotation: "true", kueue.JobOwnerGVKAnnotation: "apps/v1, Kind=StatefulSet", kueue.JobOwnerNameAnnotation: setName,
				kueue.AdmissionGatedByAnnotation: "a.b/c",
			},
			Finalizers:      []string{kueue.ResourceInUseFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: setName, UID: "set-uid"}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "main", Priority: new(int32(7)),
			PriorityClassRef: &kueue.PriorityClassRef{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: "pods"},
			PodSets: []kueue.PodSet{{Name: "main", Count: 3, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				PriorityClassName: "pods", Containers: written().Spec.Template.Spec.Containers,
			}}}},
		},
	}
	got.ResourceVersion, got.UID = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workload differs (-want +got):\n%s", diff)
	}
}

func TestWhichSetsGetAWorkload(t *testing.T) {
	unselected, err := labels.Parse("managed=no")
	if err != nil {
		t.Fatal(err)
	}
	unqueued := func(s *appsv1.StatefulSet) { delete(s.Labels, kueue.QueueNameLabel) }
	for name, c := range map[string]struct {
		set       *appsv1.StatefulSet
		configure func(*job.Options)
		want      bool
	}{
		"one with a queue":                     {set: newSet(), want: true},
		"not one without":                      {set: newSet(unqueued)},
		"one without if all are managed":       {set: newSet(unqueued), configure: func(o *job.Options) { o.ManageJobsWithoutQueueName = true }, want: true},
		"one that says nothing of replicas":    {set: newSet(func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }), want: true},
		"not one that asks for no pods":        {set: newSet(scaled(0))},
		"nor one that asks for fewer":          {set: newSet(scaled(-1))},
		"not one that a hub made":              {set: newSet(func(s *appsv1.StatefulSet) { s.Labels[kueue.MultiKueueOriginLabel] = "hub" })},
		"not one that the webhook did not see": {set: written()},
		"not one of another framework": {set: written(func(s *appsv1.StatefulSet) {
			s.Spec.Template.Annotations = map[string]string{kueue.PodSuspendingParentAnnotation: "leaderworkerset.x-k8s.io/leaderworkerset"}
		})},
		"not one in a namespace out of scope": {set: newSet(), configure: func(o *job.Options) { o.Namespaces = unselected }},
		"not an affinity assistant of Tekton": {set: newSet(func(s *appsv1.StatefulSet) { s.Labels["app.kubernetes.io/component"] = "affinity-assistant" })},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newClusterWith(t, c.configure, c.set)
			cl.Settle(setName)
			if got := len(cl.Workloads()) == 1; got != c.want {
				t.Errorf("has a workload: %v, want %v", got, c.want)
			}
		})
	}
}

func TestPodsJoinTheGroup(t *testing.T) {
	c := newCluster(t, newSet(func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "high" }), highClass(), newPod(0), newPod(1, running))
	name := "statefulset-db-" + hash(t, "set-uid")
	c.WantWrites(setName, "patch Pod db-0", "create Workload "+name)
	pod := servingtest.Find(c, &corev1.Pod{}, "db-0")
	wantLabels := map[string]string{
		"app": setName, appsv1.ControllerRevisionHashLabelKey: "r1",
		kueue.ManagedLabel: "true", kueue.QueueNameLabel: "main", kueue.PriorityClassLabel: "high",
	}
	if diff := cmp.Diff(wantLabels, pod.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	wantAnnotations := map[string]string{
		kueue.PodSuspendingParentAnnotation: "statefulset", kueue.PrebuiltWorkloadNameKey: name, kueue.PodGroupNameKey: name,
		kueue.PodGroupTotalCountAnnotation: "3", kueue.PodGroupFastAdmissionAnnotation: "true", kueue.PodGroupServingAnnotation: "true",
		kueue.PodGroupPodIndexLabelAnnotation: "apps.kubernetes.io/pod-index", kueue.RoleHashAnnotation: "main",
	}
	if diff := cmp.Diff(wantAnnotations, pod.Annotations); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
	if len(pod.Finalizers) > 0 || len(pod.Spec.SchedulingGates) != 3 {
		t.Errorf("finalizers %v, gates %v", pod.Finalizers, pod.Spec.SchedulingGates)
	}
}

func TestNamesAreLabelsWithoutTheGate(t *testing.T) {
	c := newClusterWith(t, func(o *job.Options) { o.Gates.WorkloadIdentifierAnnotations = false }, newSet(), newPod(0))
	c.Settle(setName)
	pod, name := servingtest.Find(c, &corev1.Pod{}, "db-0"), c.Workload().Name
	if pod.Labels[kueue.PrebuiltWorkloadNameKey] != name || pod.Labels[kueue.PodGroupNameKey] != name || pod.Annotations[kueue.PodGroupNameKey] != "" {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
}

func TestWhichPodsAreLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"one that runs": running,
		"one that is going": func(p *corev1.Pod) {
			p.Finalizers = []string{"example.com/f"}
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		},
		"one that has failed":         func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"one of an earlier set":       func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" },
		"one of another framework":    func(p *corev1.Pod) { p.Annotations[kueue.PodSuspendingParentAnnotation] = "other" },
		"one that nobody controls":    func(p *corev1.Pod) { p.OwnerReferences = nil },
		"one that waits for others":   func(p *corev1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[2:] },
		"one of a set of other kinds": func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, newSet(), newPod(0, change))
			c.WantWrites(setName, "create Workload statefulset-db-"+hash(t, "set-uid"))
		})
	}
}

func TestAMoveToAnotherQueueReachesWorkloadAndPods(t *testing.T) {
	c := newCluster(t, newSet(), newPod(0))
	c.Settle(setName)
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Labels[kueue.QueueNameLabel] = "other" })
	c.Settle(setName)
	if pod := servingtest.Find(c, &corev1.Pod{}, "db-0"); c.Workload().Spec.QueueName != "other" || pod.Labels[kueue.QueueNameLabel] != "other" {
		t.Errorf("workload in %s, pod in %s", c.Workload().Spec.QueueName, pod.Labels[kueue.QueueNameLabel])
	}
	c.Admit(c.Workload())
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Labels[kueue.QueueNameLabel] = "third" })
	c.Settle(setName)
	if got := c.Workload().Spec.QueueName; got != "other" {
		t.Errorf("a workload with quota moved to %s", got)
	}
}

func TestALaterPriorityReachesTheWorkload(t *testing.T) {
	c := newCluster(t, newSet(), highClass())
	c.Settle(setName)
	c.Admit(c.Workload())
	c.Events()
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "high" })
	c.Settle(setName)
	if wl := c.Workload(); *wl.Spec.Priority != 1000 || wl.Spec.PriorityClassRef.Name != "high" {
		t.Errorf("priority is %d by %v", *wl.Spec.Priority, wl.Spec.PriorityClassRef)
	}
	c.WantEvents("Normal UpdatedWorkload Updated workload priority class: team/" + c.Workload().Name)
}

func TestPodsThatRunFollowTheClassBeforeTheirWorkloadDoes(t *testing.T) {
	low := &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: 1}
	name := "statefulset-db-" + hash(t, "set-uid")
	member := func(p *corev1.Pod) { running(p); p.Annotations[kueue.PrebuiltWorkloadNameKey] = name }
	c := newCluster(t, newSet(func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "low" }), highClass(), low,
		newPod(0, member, func(p *corev1.Pod) { p.Labels[kueue.PriorityClassLabel] = "low" }), newPod(1, member),
		newPod(2, running, func(p *corev1.Pod) { p.Labels[kueue.PriorityClassLabel] = "low" }))
	c.Settle(setName)
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "high" })
	c.WantWrites(setName, "patch Pod db-0", "patch Workload "+name)
	if got := servingtest.Find(c, &corev1.Pod{}, "db-0").Labels[kueue.PriorityClassLabel]; got != "high" {
		t.Errorf("the pod has class %q", got)
	}
}

func TestAGateThatIsRemovedIsRemovedFromTheWorkload(t *testing.T) {
	c := newCluster(t, newSet(func(s *appsv1.StatefulSet) {
		s.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "a.b/c,a.b/d"}
	}))
	c.Settle(setName)
	c.Events()
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Annotations[kueue.AdmissionGatedByAnnotation] = "a.b/d" })
	c.Settle(setName)
	if got := workload.AdmissionGates(c.Workload()); !slices.Equal(got, []string{"a.b/d"}) {
		t.Errorf("gates are %q", got)
	}
	c.WantEvents(`Normal UpdatedWorkload Updated workload AdmissionGatedBy to "a.b/d"`)
}

func TestASetWaitsForItsPriorityClass(t *testing.T) {
	c := newCluster(t, newSet(func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "high" }))
	c.WantWrites(setName)
	if got := c.Events()[0]; got != `Warning WorkloadPriorityClassNotFound WorkloadPriorityClass "high" not found` {
		t.Error(got)
	}
	c.NoError(c.Create(context.Background(), highClass()))
	r := &reconciler{serving.NewBase(Kind(), c.Options, c.Client, c.Client, c.Client, nil)}
	woken := r.RequestsForClass(context.Background(), highClass())
	if len(woken) != 1 || woken[0].Name != setName {
		t.Errorf("the class wakes %v", woken)
	}
	c.Settle(setName)
	if *c.Workload().Spec.Priority != 1000 {
		t.Errorf("priority is %d", *c.Workload().Spec.Priority)
	}
}

func TestASetIsScaledToZeroAndUpAgain(t *testing.T) {
	c := newCluster(t, newSet(), newPod(0), newPod(1), newPod(2))
	c.Settle(setName)
	c.Admit(c.Workload())
	for i := range 3 {
		servingtest.Change(c, &corev1.Pod{}, fmt.Sprintf("db-%d", i), running)
		servingtest.ChangeStatus(c, &corev1.Pod{}, fmt.Sprintf("db-%d", i), running)
	}
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
	c.WantWrites(setName)
	if !workload.HasQuota(c.Workload()) {
		t.Fatal("quota is released while pods run")
	}
	for i := range 3 {
		c.NoError(c.Delete(context.Background(), servingtest.Find(c, &corev1.Pod{}, fmt.Sprintf("db-%d", i))))
	}
	c.WantWrites(setName, "patch Workload "+c.Workload().Name+" status")
	wl := c.Workload()
	if got := c.Condition(wl, kueue.WorkloadQuotaReserved); got != "False OnHold: StatefulSet scaled to zero; workload on hold" {
		t.Errorf("QuotaReserved is %s", got)
	}
	if wl.Status.Admission != nil || workload.IsAdmitted(wl) || len(wl.OwnerReferences) != 1 || *wl.Spec.Priority != 0 || wl.Spec.PodSets[0].Count != 3 {
		t.Errorf("workload is %+v", wl)
	}
	if got := c.Condition(wl, kueue.WorkloadPodsReady); !strings.HasPrefix(got, "False WaitForStart") {
		t.Errorf("PodsReady is %s", got)
	}

	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(5))
	c.WantWrites(setName, "patch Workload "+wl.Name, "patch Workload "+wl.Name+" status")
	wl = c.Workload()
	if got := c.Condition(wl, kueue.WorkloadQuotaReserved); got != "False PendingEvaluation: Workload no longer on hold; waiting for quota reservation" {
		t.Errorf("QuotaReserved is %s", got)
	}
	if wl.Spec.PodSets[0].Count != 5 || !workload.MayQueue(wl) {
		t.Errorf("asks for %d pods, may queue: %v", wl.Spec.PodSets[0].Count, workload.MayQueue(wl))
	}
}

func TestAPodThatTheCacheDoesNotShowKeepsTheQuota(t *testing.T) {
	c := newCluster(t, newSet(), newPod(0, running))
	c.Settle(setName)
	c.Admit(c.Workload())
	c.Hidden = func(obj client.Object) bool { _, pod := obj.(*corev1.Pod); return pod }
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
	c.WantWrites(setName)
	c.NoError(c.Delete(context.Background(), newPod(0)))
	c.WantWrites(setName, "patch Workload "+c.Workload().Name+" status")
}

func TestAPodThatTerminatesKeepsTheQuotaUnlessItIsToBeFast(t *testing.T) {
	going := func(p *corev1.Pod) {
		running(p)
		p.Finalizers, p.DeletionTimestamp = []string{"example.com/f"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
	for fast, want := range map[bool]bool{false: false, true: true} {
		c := newClusterWith(t, func(o *job.Options) { o.Gates.FastQuotaRelease = fast }, newSet(), newPod(0, going))
		c.Settle(setName)
		servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
		c.Settle(setName)
		if got := workload.IsOnHold(c.Workload()); got != want {
			t.Errorf("fast %v: on hold %v, want %v", fast, got, want)
		}
	}
}

func TestAWorkloadThatWasDeactivatedIsNotFoughtOver(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	servingtest.Change(c, &kueue.Workload{}, c.Workload().Name, func(wl *kueue.Workload) { wl.Spec.Active = new(false) })
	c.ApplyStatus(c.Workload(), func(wl *kueue.Workload) {
		workload.ApplyPlan(wl, lifecycle.Step(workload.State(wl), lifecycle.Observation{Now: c.Clock.Now(), Owned: true}))
	})
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
	c.WantWrites(setName)
}

func TestTheQueueOfASetIsChangedWhileItIsScaledToZero(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
	c.Settle(setName)
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, func(s *appsv1.StatefulSet) { s.Labels[kueue.QueueNameLabel] = "other" })
	c.Settle(setName)
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(3))
	c.Settle(setName)
	if wl := c.Workload(); wl.Spec.QueueName != "other" || !workload.MayQueue(wl) {
		t.Errorf("queue %s, may queue: %v", wl.Spec.QueueName, workload.MayQueue(wl))
	}
}

func TestAWorkloadThatHoldsQuotaKeepsItsPodSets(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	c.Admit(c.Workload())
	servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(5))
	c.WantWrites(setName)
}

func TestARefusedWorkloadIsMadeAnew(t *testing.T) {
	finish := func(c *cluster) {
		c.ApplyStatus(c.Workload(), func(wl *kueue.Workload) {
			workload.Finish(wl, kueue.ReasonOutOfSync, "", c.Clock.Now())
			controllerutil.RemoveFinalizer(wl, kueue.ResourceInUseFinalizer)
		})
		servingtest.Change(c, &kueue.Workload{}, c.Workload().Name, func(wl *kueue.Workload) { wl.Finalizers = nil })
	}
	t.Run("for another number of pods, once none of the old runs", func(t *testing.T) {
		c := newCluster(t, newSet(), newPod(0, running))
		c.Settle(setName)
		finish(c)
		servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(5))
		c.WantWrites(setName)
		c.NoError(c.Delete(context.Background(), newPod(0)))
		c.WantWrites(setName, "delete Workload "+c.Workload().Name, "create Workload "+c.Workload().Name)
		if got := c.Workload().Spec.PodSets[0].Count; got != 5 {
			t.Errorf("asks for %d pods", got)
		}
	})
	t.Run("not for the same", func(t *testing.T) {
		c := newCluster(t, newSet())
		c.Settle(setName)
		finish(c)
		c.WantWrites(setName)
	})
	t.Run("it goes when the set is scaled to zero", func(t *testing.T) {
		c := newCluster(t, newSet())
		c.Settle(setName)
		finish(c)
		servingtest.Change(c, &appsv1.StatefulSet{}, setName, scaled(0))
		c.WantWrites(setName, "delete Workload "+c.Workload().Name)
	})
}

func TestWorkloadsUnderTheOldName(t *testing.T) {
	old := func(change func(*kueue.Workload)) *kueue.Workload {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: servingtest.Namespace, Name: "statefulset-db-" + hash(t, ""), UID: "old-uid",
		}}
		wl.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 1}}
		change(wl)
		return wl
	}
	reserved := func(wl *kueue.Workload) {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq"}
		wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}}
	}
	owner := func(kind, uid string, controller bool) func(*kueue.Workload) {
		return func(wl *kueue.Workload) {
			wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: setName, UID: types.UID(uid), Controller: &controller}}
		}
	}
	for name, c := range map[string]struct {
		wl   *kueue.Workload
		used bool
	}{
		"one that nobody owns is taken, and asks for what the set asks for": {wl: old(func(*kueue.Workload) {}), used: true},
		"one of the set is taken with its quota":                            {wl: old(func(wl *kueue.Workload) { reserved(wl); owner("StatefulSet", "set-uid", false)(wl) }), used: true},
		"one with quota for something else is not":                          {wl: old(reserved)},
		"one with quota for the same is": {wl: old(func(wl *kueue.Workload) {
			reserved(wl)
			wl.Spec.PodSets[0].Count, wl.Spec.PodSets[0].Template.Spec = 3, written().Spec.Template.Spec
		}), used: true},
		"one of an earlier set is not": {wl: old(owner("StatefulSet", "earlier", false))},
		"one with a controller is not": {wl: old(owner("Deployment", "x", true))},
		"one that is being deleted isn't": {wl: old(func(wl *kueue.Workload) {
			wl.Finalizers = []string{"x/y"}
			wl.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, newSet(), c.wl, newPod(0))
			cl.Settle(setName)
			want := "statefulset-db-" + hash(t, "set-uid")
			if c.used {
				want = c.wl.Name
			}
			if got := servingtest.Find(cl, &corev1.Pod{}, "db-0").Annotations[kueue.PrebuiltWorkloadNameKey]; got != want {
				t.Errorf("pods are of %s, want %s", got, want)
			}
			wl := servingtest.Find(cl, &kueue.Workload{}, want)
			if c.used && len(cl.Workloads()) != 1 || len(wl.OwnerReferences) != 1 || wl.Annotations[kueue.IsGroupWorkloadAnnotation] != "true" {
				t.Errorf("%d workloads, of %v with %v", len(cl.Workloads()), wl.OwnerReferences, wl.Annotations)
			}
		})
	}
}

func TestACopyHasTheWorkloadOfItsHub(t *testing.T) {
	c := newCluster(t, newSet(func(s *appsv1.StatefulSet) {
		s.Labels[kueue.MultiKueueOriginLabel] = "hub"
		s.Annotations = map[string]string{kueue.MultiKueueOriginUIDAnnotation: "hub-uid"}
	}), newPod(0))
	c.WantWrites(setName, "patch Pod db-0")
	if got, want := servingtest.Find(c, &corev1.Pod{}, "db-0").Annotations[kueue.PodGroupNameKey], "statefulset-db-"+hash(t, "hub-uid"); got != want {
		t.Errorf("pods are of %s, want %s", got, want)
	}
}

func TestARolloutDoesNotWaitForPodsThatItReplaces(t *testing.T) {
	rolling := func(s *appsv1.StatefulSet) {
		s.Generation, s.Status.ObservedGeneration = 2, 2
		s.Status.CurrentRevision, s.Status.UpdateRevision = "r1", "r2"
	}
	for name, c := range map[string]struct {
		set  *appsv1.StatefulSet
		want []string
	}{
		"no rollout":                        {set: newSet(func(s *appsv1.StatefulSet) { s.Status.CurrentRevision, s.Status.UpdateRevision = "r1", "r1" })},
		"a rollout":                         {set: newSet(rolling), want: []string{"db-0", "db-1"}},
		"one that replaces the last only":   {set: newSet(rolling, partition(1)), want: []string{"db-1"}},
		"one that replaces nothing itself":  {set: newSet(rolling, onDelete)},
		"one that its controller knows not": {set: newSet(rolling, func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration = 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, c.set, newPod(0), newPod(1), newPod(2, func(p *corev1.Pod) { p.Labels[appsv1.ControllerRevisionHashLabelKey] = "r2" }))
			cl.Settle(setName)
			var free []string
			for i := range 3 {
				pod := servingtest.Find(cl, &corev1.Pod{}, fmt.Sprintf("db-%d", i))
				if len(pod.Spec.SchedulingGates) == 1 && pod.Spec.SchedulingGates[0].Name == "example.com/other" {
					free = append(free, pod.Name)
				}
				if pod.Labels[kueue.ManagedLabel] != "true" {
					t.Errorf("%s has not joined the group, and nobody stops it without quota", pod.Name)
				}
			}
			if diff := cmp.Diff(c.want, free); diff != "" {
				t.Errorf("ungated pods differ (-want +got):\n%s", diff)
			}
		})
	}
}

func partition(n int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	}
}

func onDelete(s *appsv1.StatefulSet) {
	s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
}

func TestAWorkloadIsLetGoWhenItsPodsAreGone(t *testing.T) {
	member := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { running(p); p.Annotations[kueue.PrebuiltWorkloadNameKey] = name }
	}
	name := "statefulset-db-" + hash(t, "set-uid")
	c := newCluster(t, newSet(), newPod(0, member(name)))
	c.Settle(setName)
	c.NoError(c.Delete(context.Background(), c.Workload()))
	c.WantWrites(setName)
	c.NoError(c.Delete(context.Background(), newPod(0)))
	c.WantWrites(setName, "patch Workload "+name, "create Workload "+name)

	c.NoError(c.Delete(context.Background(), newSet()))
	c.NoError(c.Delete(context.Background(), c.Workload())) // as the garbage collector does
	c.WantWrites(setName, "patch Workload "+name)
	if left := c.Workloads(); len(left) > 0 {
		t.Errorf("%d workloads are left", len(left))
	}
}

func TestWorkloadsOfOthersThatNameTheSetAreNotLetGo(t *testing.T) {
	for name, change := range map[string]func(*kueue.Workload){
		"of another name": func(wl *kueue.Workload) { wl.Name = "mine" },
		"with a controller": func(wl *kueue.Workload) {
			wl.OwnerReferences[0].Kind, wl.OwnerReferences[0].Controller = "Job", new(true)
		},
	} {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: servingtest.Namespace, Name: "statefulset-db-" + hash(t, "set-uid"), DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)},
			Finalizers: []string{kueue.ResourceInUseFinalizer},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "x"}, {APIVersion: "apps/v1", Kind: "StatefulSet", Name: setName, UID: "set-uid"},
			},
		}}
		change(wl)
		c := newCluster(t, wl)
		if writes := c.Settle(setName); len(writes) > 0 {
			t.Errorf("%s: %q", name, writes)
		}
	}
}

func TestSetsThatAreMadeAgainHaveWorkloadsOfTheirOwn(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	c.NoError(c.Delete(context.Background(), newSet()))
	c.NoError(c.Create(context.Background(), newSet(func(s *appsv1.StatefulSet) { s.UID = "second" })))
	c.WantWrites(setName, "create Workload statefulset-db-"+hash(t, "second"))
}

func TestAWorkloadThatTheCacheDoesNotShowIsNotMadeTwice(t *testing.T) {
	c := newCluster(t, newSet())
	c.Settle(setName)
	c.Hidden = func(obj client.Object) bool { _, wl := obj.(*kueue.Workload); return wl }
	c.Look(setName)
	if n := len(c.Workloads()); n != 1 {
		t.Errorf("%d workloads", n)
	}
}

func TestAWorkloadOfTheNameThatIsSomebodyElsesIsAnError(t *testing.T) {
	other := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: "statefulset-db-" + hash(t, "set-uid")}}
	other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: new(true)}}
	c := newCluster(t, newSet(), other)
	if _, err := c.TryLook(setName); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error is %v", err)
	}
}

func highClass() *kueue.WorkloadPriorityClass {
	return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
}

// hash is the end of the name of the Workload of a set with that UID.
func hash(t *testing.T, uid string) string {
	t.Helper()
	name := job.WorkloadName(gvk(), setName, types.UID(uid), false)
	return name[strings.LastIndex(name, "-")+1:]
}

// written is a set of three pods as a user writes it, after changes.
func written(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: setName, UID: "set-uid", Labels: map[string]string{kueue.QueueNameLabel: "main"},
	}}
	set.Spec.Replicas = new(int32(3))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": setName}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "db", Image: "db:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	for _, change := range changes {
		change(set)
	}
	return set
}
