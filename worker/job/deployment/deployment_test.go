package deployment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job/deployment"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/serving/servingtest"
)

type webhook = servingtest.Webhook[*appsv1.Deployment]

func newWebhook(objects ...client.Object) webhook {
	return webhook{
		Kind: deployment.Kind(), Options: servingtest.Options(), Objects: objects,
	}
}

// written is a Deployment as a user writes it, after changes.
func written(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: servingtest.Namespace, Name: "web", UID: "web-uid", Labels: map[string]string{kueue.QueueNameLabel: "main"},
	}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	for _, change := range changes {
		change(d)
	}
	return d
}

func label(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Labels[key] = value; value == "" {
			delete(d.Labels, key)
		}
	}
}

func annotation(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, value) }
}

func ready(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }

func deleted(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func unqueued(d *appsv1.Deployment) { d.Labels = map[string]string{} }

func localQueue(name string) client.Object {
	return &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: servingtest.Namespace, Name: name}}
}

func priorityClass(name string) client.Object {
	return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestPodsOfAManagedDeploymentAreManaged(t *testing.T) {
	d := newWebhook().Create(t, written(label(kueue.PriorityClassLabel, "high")))
	wantLabels := map[string]string{
		"app": "web", kueue.ManagedLabel: "true", kueue.QueueNameLabel: "main", kueue.PriorityClassLabel: "high",
	}
	if diff := cmp.Diff(wantLabels, d.Spec.Template.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{kueue.PodSuspendingParentAnnotation: "deployment"}, d.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations differ (-want +got):\n%s", diff)
	}
}

func TestWhichDeploymentsAreManaged(t *testing.T) {
	unselected, err := labels.Parse("managed=no")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		world  func(*webhook)
		want   bool
	}{
		"one with a queue":                     {want: true},
		"not one without":                      {change: unqueued},
		"one without if all are managed":       {change: unqueued, world: func(w *webhook) { w.Options.ManageJobsWithoutQueueName = true }, want: true},
		"one without where there is a default": {change: unqueued, world: func(w *webhook) { w.Objects = []client.Object{localQueue("default")} }, want: true},
		"not one in a namespace out of scope":  {world: func(w *webhook) { w.Options.Namespaces = unselected }},
		"not when the kind is switched off":    {world: func(w *webhook) { w.Disabled = true }},
		"not one that is being deleted":        {change: deleted},
		"one whose controller nobody knows":    {change: ownedBy("example.com/v1", "Thing"), want: true},
		"one that only claims to be a JobSet's": {
			change: ownedBy(jobset.Kind().GVK.GroupVersion().String(), "JobSet"), want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook()
			if c.world != nil {
				c.world(&w)
			}
			d := written()
			if c.change != nil {
				c.change(d)
			}
			if _, got := w.Create(t, d).Spec.Template.Annotations[kueue.PodSuspendingParentAnnotation]; got != c.want {
				t.Errorf("managed %v, want %v", got, c.want)
			}
		})
	}
}

func ownedBy(apiVersion, kind string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		yes := true
		d.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "x", UID: "x-uid", Controller: &yes}}
	}
}

func TestADeploymentThatRunsGetsNoDefaults(t *testing.T) {
	w := newWebhook(localQueue("default"), priorityClass("default"))
	for name, c := range map[string]struct {
		old, now  *appsv1.Deployment
		wantLabel map[string]string
	}{
		"a new one gets both": {
			now: written(unqueued), wantLabel: map[string]string{kueue.QueueNameLabel: "default", kueue.PriorityClassLabel: "default"},
		},
		"one of which nothing is ready gets both": {
			old: written(unqueued), now: written(unqueued), wantLabel: map[string]string{kueue.QueueNameLabel: "default", kueue.PriorityClassLabel: "default"},
		},
		"one that is ready stays as it is": {old: written(unqueued, ready), now: written(unqueued), wantLabel: map[string]string{}},
		"one that is ready keeps its queue and gets no class": {
			old: written(ready), now: written(), wantLabel: map[string]string{kueue.QueueNameLabel: "main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got *appsv1.Deployment
			if c.old == nil {
				got = w.Create(t, c.now)
			} else {
				got = w.Update(t, c.old, c.now)
				got.Status = c.old.Status // as the API server does
				if refused := w.RefusesUpdate(t, c.old, got); refused != "" {
					t.Errorf("its own default is refused: %s", refused)
				}
			}
			if diff := cmp.Diff(c.wantLabel, got.Labels); diff != "" {
				t.Errorf("labels differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarksAreNeverTakenBack(t *testing.T) {
	w := newWebhook()
	marked := w.Create(t, written())
	left := marked.DeepCopy()
	left.Labels = map[string]string{}
	if diff := cmp.Diff(marked.Spec, w.Update(t, marked, left).Spec); diff != "" {
		t.Errorf("another rollout:\n%s", diff)
	}
}

func TestAChangeOfTheQueueIsARollout(t *testing.T) {
	w := newWebhook()
	marked := w.Create(t, written())
	moved := marked.DeepCopy()
	moved.Labels[kueue.QueueNameLabel] = "other"
	if got := w.Update(t, marked, moved).Spec.Template.Labels[kueue.QueueNameLabel]; got != "other" {
		t.Errorf("pods are in queue %q", got)
	}
}

func TestWhatANewDeploymentMustNotSay(t *testing.T) {
	subdomain := validation.IsDNS1123Subdomain("Not Valid")[0]
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		want   string
	}{
		"nothing is wrong": {func(*appsv1.Deployment) {}, ""},
		"a queue that is no name": {
			label(kueue.QueueNameLabel, "Not Valid"),
			`metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "Not Valid": ` + subdomain,
		},
		"that it is elastic": {
			annotation(kueue.ElasticJobAnnotation, "true"),
			`metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported for "apps/v1, Kind=Deployment"`,
		},
		"a gate twice": {
			annotation(kueue.AdmissionGatedByAnnotation, "a.b/c,a.b/c"),
			`metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.b/c,a.b/c": duplicate gate name: a.b/c`,
		},
		"what only other kinds are asked about": {label(kueue.MaxExecTimeSecondsLabel, "x"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newWebhook().RefusesCreate(t, written(c.change))); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
			off := newWebhook()
			off.Disabled = true
			if got := off.RefusesCreate(t, written(c.change)); got != "" {
				t.Errorf("switched off it says %s", got)
			}
		})
	}
}

func TestElasticMeansNothingWithoutItsGate(t *testing.T) {
	w := newWebhook()
	w.Options.Gates.ElasticJobs, w.Options.Gates.AdmissionGatedBy = false, false
	d := written(annotation(kueue.ElasticJobAnnotation, "true"), annotation(kueue.AdmissionGatedByAnnotation, ","))
	if got := w.RefusesCreate(t, d); got != "" {
		t.Error(got)
	}
	if got := w.RefusesUpdate(t, written(), d); got != "" {
		t.Error(got)
	}
}

func TestWhatMayChangeOfADeployment(t *testing.T) {
	type changes = []func(*appsv1.Deployment)
	for name, c := range map[string]struct {
		old, now changes
		want     string
	}{
		"replicas and templates are free": {old: changes{ready}, now: changes{ready, func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Spec.Template.Spec.NodeSelector = new(int32(9)), map[string]string{"a": "b"}
		}}},
		"the queue while nothing is ready": {now: changes{label(kueue.QueueNameLabel, "b")}},
		"the queue of one that runs": {
			old: changes{ready}, now: changes{ready, label(kueue.QueueNameLabel, "b")},
			want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "b": field is immutable`,
		},
		"leaving the queue": {
			now:  changes{unqueued},
			want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": field is immutable`,
		},
		"getting the first queue while nothing is ready": {old: changes{unqueued}},
		"staying without a queue":                        {old: changes{unqueued, ready}, now: changes{unqueued, ready}},
		"a class for one that runs": {
			old: changes{ready}, now: changes{ready, label(kueue.PriorityClassLabel, "a")},
			want: `metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: "a": WorkloadPriorityClass cannot be added to a non-suspended workload`,
		},
		"a class while nothing is ready": {now: changes{label(kueue.PriorityClassLabel, "a")}},
		"another class for one that runs": {
			old: changes{ready, label(kueue.PriorityClassLabel, "a")}, now: changes{ready, label(kueue.PriorityClassLabel, "b")},
		},
		"giving up the class": {
			old:  changes{label(kueue.PriorityClassLabel, "a")},
			want: `metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: "": WorkloadPriorityClass cannot be removed from a workload`,
		},
		"becoming elastic": {
			now:  changes{annotation(kueue.ElasticJobAnnotation, "true")},
			want: `metadata.annotations[kueue.x-k8s.io/elastic-job]: Invalid value: "true": field is immutable`,
		},
		"a gate that is removed": {
			old: changes{annotation(kueue.AdmissionGatedByAnnotation, "a.b/c,a.b/d")}, now: changes{annotation(kueue.AdmissionGatedByAnnotation, "a.b/d")},
		},
		"the first gate": {
			now:  changes{annotation(kueue.AdmissionGatedByAnnotation, "a.b/c")},
			want: `metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: cannot add admission gate after creation`,
		},
		"a further gate": {
			old: changes{annotation(kueue.AdmissionGatedByAnnotation, "a.b/c")}, now: changes{annotation(kueue.AdmissionGatedByAnnotation, "a.b/c,a.b/d")},
			want: `metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: can only remove gates, not add new ones`,
		},
		"anything of one that is being deleted": {
			old: changes{ready}, now: changes{ready, unqueued, deleted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newWebhook().RefusesUpdate(t, written(c.old...), written(c.now...))); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}
