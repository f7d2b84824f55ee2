package statefulset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/serving/servingtest"
)

type webhook = servingtest.Webhook[*appsv1.StatefulSet]

func newWebhook(objects ...client.Object) webhook {
	return webhook{Kind: Kind(), Options: servingtest.Options(), Objects: objects}
}

func FuzzWebhook(f *testing.F) { servingtest.FuzzWebhook(f, newWebhook()) }

func unqueued(s *appsv1.StatefulSet) { delete(s.Labels, kueue.QueueNameLabel) }

func assistant(s *appsv1.StatefulSet) { s.Labels["app.kubernetes.io/component"] = "affinity-assistant" }

func ofAnother(s *appsv1.StatefulSet) {
	s.Spec.Template.Annotations = map[string]string{kueue.PodSuspendingParentAnnotation: "leaderworkerset.x-k8s.io/leaderworkerset"}
}

func TestPodsOfAManagedSetWait(t *testing.T) {
	set := newWebhook().Create(t, written(func(s *appsv1.StatefulSet) { s.Labels[kueue.PriorityClassLabel] = "high" }))
	if diff := cmp.Diff(map[string]string{kueue.PodSuspendingParentAnnotation: "statefulset"}, set.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
	if len(set.Spec.Template.Labels) > 0 {
		t.Errorf("labels are %v", set.Spec.Template.Labels)
	}
}

func TestAMoveToAnotherQueueIsNoRollout(t *testing.T) {
	marked := newSet()
	moved := marked.DeepCopy()
	moved.Labels[kueue.QueueNameLabel] = "other"
	if diff := cmp.Diff(marked.Spec, newWebhook().Update(t, marked, moved).Spec); diff != "" {
		t.Errorf("the spec differs:\n%s", diff)
	}
}

func TestWhichSetsTheWebhookLeavesAlone(t *testing.T) {
	defaults := []client.Object{
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: "default"}},
		&kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	}
	for name, change := range map[string]func(*appsv1.StatefulSet){
		"one of another framework":        ofAnother,
		"an affinity assistant of Tekton": assistant,
		"one of another without a queue":  func(s *appsv1.StatefulSet) { ofAnother(s); unqueued(s) },
		"an assistant without a queue":    func(s *appsv1.StatefulSet) { assistant(s); unqueued(s) },
		"one whose mark is of a framework": func(s *appsv1.StatefulSet) {
			s.Spec.Template.Annotations = map[string]string{kueue.PodSuspendingParentAnnotation: ""}
		},
		"one of another that says wrong things": func(s *appsv1.StatefulSet) {
			ofAnother(s)
			s.Labels[kueue.QueueNameLabel] = "Not Valid"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, set := newWebhook(defaults...), written(change)
			if diff := cmp.Diff(set, w.Create(t, set)); diff != "" {
				t.Errorf("it is changed:\n%s", diff)
			}
			if got := w.RefusesCreate(t, set); got != "" {
				t.Errorf("its creation is refused: %s", got)
			}
			now := set.DeepCopy()
			now.Spec.Replicas, now.Spec.Template.Spec.Containers = new(int32(9)), nil
			if got := w.RefusesUpdate(t, set, now); got != "" {
				t.Errorf("its change is refused: %s", got)
			}
		})
	}
}

func TestWhatMayChangeOfASet(t *testing.T) {
	type changes = []func(*appsv1.StatefulSet)
	cpu := func(n string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
		}
	}
	left := func(s *appsv1.StatefulSet) { s.Status.Replicas = 1 }
	ready := func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }
	unmarked := func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations = nil }
	workloadOf := func(uid string, change func(*kueue.Workload)) []client.Object {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: "statefulset-db-" + hash(t, uid)}}
		change(wl)
		return []client.Object{wl}
	}
	hold := func(wl *kueue.Workload) {
		wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "OnHold"}}
	}
	const (
		immutable  = `spec.replicas: Invalid value: 5: field is immutable`
		inProgress = `spec.replicas: Forbidden: scaling down is still in progress`
		deleting   = `spec.replicas: Forbidden: workload from previous scale-down is still being deleted`
		shape      = `spec.template.spec.containers[0].resources.requests: Invalid value: {"cpu":"2"}: field is immutable`
	)
	for name, c := range map[string]struct {
		old, now changes
		objects  []client.Object
		want     string
	}{
		"nothing":      {},
		"to zero":      {now: changes{scaled(0)}},
		"to more":      {now: changes{scaled(5)}, want: immutable},
		"to less":      {old: changes{scaled(9)}, now: changes{scaled(5)}, want: immutable},
		"saying three": {old: changes{scaled(1)}, now: changes{func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }}},
		"from zero":    {old: changes{scaled(0)}, now: changes{scaled(5)}},
		"from zero while pods are left": {
			old: changes{scaled(0), left}, now: changes{scaled(5), left}, want: inProgress,
		},
		"from zero while the Workload is not on hold": {
			old: changes{scaled(0)}, now: changes{scaled(5)}, objects: workloadOf("set-uid", func(*kueue.Workload) {}), want: deleting,
		},
		"from zero while the Workload is on hold": {
			old: changes{scaled(0)}, now: changes{scaled(5)}, objects: workloadOf("set-uid", hold),
		},
		"from zero while the Workload is not active": {
			old: changes{scaled(0)}, now: changes{scaled(5)}, objects: workloadOf("set-uid", func(wl *kueue.Workload) { wl.Spec.Active = new(false) }),
		},
		"from zero while a Workload of the old name is the set's": {
			old: changes{scaled(0)}, now: changes{scaled(5)},
			objects: workloadOf("", func(wl *kueue.Workload) { wl.OwnerReferences = []metav1.OwnerReference{{UID: "set-uid"}} }), want: deleting,
		},
		"from zero while one of the old name is another's": {
			old: changes{scaled(0)}, now: changes{scaled(5)}, objects: workloadOf("", func(*kueue.Workload) {}),
		},
		"replicas of a set that does not wait":  {old: changes{unmarked, unqueued}, now: changes{unmarked, unqueued, scaled(5)}},
		"replicas with the first queue":         {old: changes{unmarked, unqueued}, now: changes{scaled(5)}},
		"the image":                             {now: changes{func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "db:2" }}},
		"what pods ask for":                     {now: changes{cpu("2")}, want: shape},
		"what pods ask for when none are left":  {old: changes{scaled(0)}, now: changes{scaled(0), cpu("2")}, objects: workloadOf("set-uid", hold)},
		"what pods ask for while some are left": {old: changes{scaled(0), left}, now: changes{scaled(0), left, cpu("2")}, want: shape},
		"what pods ask for while quota is held": {old: changes{scaled(0)}, now: changes{scaled(0), cpu("2")}, objects: workloadOf("set-uid", func(*kueue.Workload) {}), want: shape},
		"what pods ask for with the scale":      {old: changes{scaled(0)}, now: changes{cpu("2")}, want: shape},
		"the queue while nothing is ready":      {now: changes{func(s *appsv1.StatefulSet) { s.Labels[kueue.QueueNameLabel] = "b" }}},
		"the queue of one that runs": {
			old: changes{ready}, now: changes{ready, func(s *appsv1.StatefulSet) { s.Labels[kueue.QueueNameLabel] = "b" }},
			want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "b": field is immutable`,
		},
		"leaving the queue": {now: changes{unqueued}, want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": field is immutable`},
		"anything of one that is being deleted": {
			now: changes{scaled(5), func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newWebhook(c.objects...).RefusesUpdate(t, marked(c.old...), marked(c.now...))); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

// marked is a set that was marked before the changes.
func marked(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := newSet()
	for _, change := range changes {
		change(set)
	}
	return set
}

func TestASetThatIsElasticIsRefused(t *testing.T) {
	set := written(func(s *appsv1.StatefulSet) { s.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"} })
	want := `metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported for "apps/v1, Kind=StatefulSet"`
	if got := newWebhook().RefusesCreate(t, set); got != want {
		t.Errorf("got %s", got)
	}
}
