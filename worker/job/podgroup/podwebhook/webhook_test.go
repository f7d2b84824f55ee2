package podwebhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

// jobKinds are some kinds whose jobs make pods.
func jobKinds() []job.Integration {
	return []job.Integration{job.NewIntegration(batchjob.Kind()), job.NewIntegration(jobset.Kind())}
}

const controller = "system:serviceaccount:kube-system:job-controller"

// cluster is an API server in which only the controller may write the status of jobs and ReplicaSets.
type cluster struct {
	client.Client
	opts job.Options
	// reviews counts how often it was asked who may do what; down makes it fail.
	reviews int
	down    bool
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, kueue.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, gvk := range []schema.GroupVersionKind{
		batchv1.SchemeGroupVersion.WithKind("Job"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), corev1.SchemeGroupVersion.WithKind("Pod"),
	} {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	c := &cluster{opts: job.Options{Kinds: jobKinds(), Gates: job.DefaultGates()}}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"managed": "yes"}}})
	c.Client = fake.NewClientBuilder().WithScheme(s).WithRESTMapper(mapper).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			review, ok := obj.(*authorizationv1.SubjectAccessReview)
			if !ok {
				return errors.New("nothing but reviews is created here")
			}
			if c.down {
				return errors.New("no answer")
			}
			c.reviews++
			a := review.Spec.ResourceAttributes
			review.Status.Allowed = review.Spec.User == controller && a.Verb == "update" && a.Subresource == "status" && a.Namespace == "team" &&
				(a.Group == "batch" && a.Resource == "jobs" || a.Group == "apps" && a.Resource == "replicasets")
			return nil
		},
	}).Build()
	return c
}

func (c *cluster) webhook() *Webhook { return New(c.opts, c, c, true) }

// by is a request of a user; the token is that of the pod with the UID, if one is given.
func by(user, pod string) context.Context {
	info := authenticationv1.UserInfo{Username: user, Extra: map[string]authenticationv1.ExtraValue{}}
	if pod != "" {
		info.Extra[podUIDExtra] = authenticationv1.ExtraValue{pod}
	}
	return admission.NewContextWithRequest(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: info}})
}

func newPod(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, apply := range change {
		apply(pod)
	}
	return pod
}

func label(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

func annotation(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

func queued(pod *corev1.Pod) { pod.Labels[kueue.QueueNameLabel] = "main" }

func ownedBy(apiVersion, kind, name string) func(*corev1.Pod) {
	yes := true
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name + "-uid"), Controller: &yes}}
	}
}

func gates(pod *corev1.Pod) []string {
	var names []string
	for _, g := range pod.Spec.SchedulingGates {
		names = append(names, g.Name)
	}
	return names
}

func meta1(name string, queue string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{}}
	if queue != "" {
		m.Labels[kueue.QueueNameLabel] = queue
	}
	return m
}

func TestAManagedPodWaits(t *testing.T) {
	c := newCluster(t)
	pod := newPod(queued, annotation(kueue.PodGroupPodIndexLabelAnnotation, "rank"), label("rank", "7"))
	for range 2 { // the webhook may be called again
		if err := c.webhook().Default(by("user", ""), pod); err != nil {
			t.Fatal(err)
		}
	}
	want := newPod(queued, annotation(kueue.PodGroupPodIndexLabelAnnotation, "rank"), label("rank", "7"), label(kueue.ManagedLabel, "true"),
		label(kueue.PodGroupPodIndexLabel, "7"), annotation(kueue.RoleHashAnnotation, "7aa6c7b8"))
	want.Finalizers = []string{kueue.ManagedFinalizer}
	want.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}, {Name: kueue.TopologySchedulingGate}}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod differs (-want +got):\n%s", diff)
	}
}

func TestWhichPodsWait(t *testing.T) {
	no, err := labels.Parse("managed=no")
	if err != nil {
		t.Fatal(err)
	}
	lq := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}}
	job1 := &batchv1.Job{ObjectMeta: meta1("train", "main")}
	unmanagedJob := &batchv1.Job{ObjectMeta: meta1("train", "")}
	replicas := &appsv1.ReplicaSet{ObjectMeta: meta1("web", "")}
	driver := &corev1.Pod{ObjectMeta: meta1("driver", "main")}
	ofJob := ownedBy("batch/v1", "Job", "train")
	parent := annotation(kueue.PodSuspendingParentAnnotation, "deployment")
	unselected := func(o *job.Options) { o.Namespaces = no }
	others := func(o *job.Options) { o.PodsOfOthersOnly = true }
	everything := func(o *job.Options) { o.ManageJobsWithoutQueueName = true }
	for _, tc := range []struct {
		name      string
		pod       *corev1.Pod
		configure func(*job.Options)
		objects   []client.Object
		by        string
		token     string
		waits     bool
	}{
		{name: "one with a queue", pod: newPod(queued), waits: true},
		{name: "not one without", pod: newPod()},
		{name: "unless there is a default queue", pod: newPod(), objects: []client.Object{lq}, waits: true},
		{name: "or every pod is managed", pod: newPod(), configure: everything, waits: true},
		{name: "not in a namespace that is not managed", pod: newPod(queued), configure: unselected},
		{name: "there but for one that another integration has wait", pod: newPod(parent), configure: unselected, waits: true},
		{name: "a parent without a name is none", pod: newPod(annotation(kueue.PodSuspendingParentAnnotation, ""))},
		{name: "where pods are not served nothing else would let it go", pod: newPod(queued), configure: others},
		{name: "nor one whose parent has no name", pod: newPod(queued, annotation(kueue.PodSuspendingParentAnnotation, "")), configure: others},
		{name: "those of other integrations are", pod: newPod(parent), configure: others, waits: true},
		{name: "not one of a managed job, by its controller", pod: newPod(queued, ofJob), objects: []client.Object{job1}, by: controller},
		{name: "nor if every pod is managed", pod: newPod(ofJob), configure: everything, objects: []client.Object{unmanagedJob}, by: controller},
		{name: "but one that a tenant makes in the name of a job", pod: newPod(queued, ofJob), objects: []client.Object{job1}, waits: true},
		{name: "one of a job that is not managed", pod: newPod(queued, ofJob), objects: []client.Object{unmanagedJob}, by: controller, waits: true},
		{name: "one of a job that is no more", pod: newPod(queued, ofJob), by: controller, waits: true},
		{name: "one of a job of the same name that is gone", pod: newPod(queued, ofJob, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" }), objects: []client.Object{job1}, by: controller, waits: true},
		{name: "one of a ReplicaSet, for which nobody pays", pod: newPod(queued, ownedBy("apps/v1", "ReplicaSet", "web")), objects: []client.Object{replicas}, by: controller, waits: true},
		{name: "one of a kind that is not known", pod: newPod(queued, ownedBy("tekton.dev/v1", "TaskRun", "build")), by: controller, waits: true},
		{name: "one that a managed pod has made", pod: newPod(queued, ownedBy("v1", "Pod", "driver")), objects: []client.Object{driver}, token: "driver-uid", waits: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			if tc.configure != nil {
				tc.configure(&c.opts)
			}
			user := tc.by
			if user == "" {
				user = "tenant"
			}
			if err := c.webhook().Default(by(user, tc.token), tc.pod); err != nil {
				t.Fatal(err)
			}
			if got := len(gates(tc.pod)) > 0; got != tc.waits {
				t.Errorf("waits: %v, want %v", got, tc.waits)
			}
			if tc.waits && tc.pod.Annotations[kueue.PodSuspendingParentAnnotation] != "" && (len(tc.pod.Finalizers) > 0 || tc.pod.Labels[kueue.ManagedLabel] != "") {
				t.Errorf("a parent's pod was marked: %v %v", tc.pod.Finalizers, tc.pod.Labels)
			}
			if !tc.waits && tc.pod.Labels[kueue.QueueNameLabel] == "default" {
				t.Error("an unmanaged pod was given a queue")
			}
		})
	}
}

// An executor is a pod that another pod has made. The job that made the driver pays for both.
func TestThePodsOfAPodBelongToItsJob(t *testing.T) {
	driver := newPod(ownedBy("batch/v1", "Job", "train"))
	driver.Name, driver.UID = "driver", "driver-uid"
	executor := newPod(queued, ownedBy("v1", "Pod", "driver"))
	for token, waits := range map[string]bool{"driver-uid": false, "another-uid": true, "": true} {
		c := newCluster(t, &batchv1.Job{ObjectMeta: meta1("train", "main")}, driver)
		pod := executor.DeepCopy()
		if err := c.webhook().Default(by("spark", token), pod); err != nil {
			t.Fatal(err)
		}
		if got := len(gates(pod)) > 0; got != waits {
			t.Errorf("by the token of %q: waits %v, want %v", token, got, waits)
		}
	}
}

func TestAnAnswerAboutACreatorIsRemembered(t *testing.T) {
	c := newCluster(t, &batchv1.Job{ObjectMeta: meta1("train", "main")})
	h := c.webhook()
	pod := func() *corev1.Pod { return newPod(queued, ownedBy("batch/v1", "Job", "train")) }
	for range 3 {
		if err := h.Default(by(controller, ""), pod()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Default(by("tenant", ""), pod()); err != nil {
		t.Fatal(err)
	}
	if c.reviews != 2 {
		t.Errorf("%d reviews, want one for each user", c.reviews)
	}
	c.down = true
	if err := h.Default(by("another", ""), pod()); err == nil {
		t.Error("a pod is let through although nobody knows who made it")
	}
}

func TestPodsWithoutAQueueCostNoReads(t *testing.T) {
	c := newCluster(t)
	reads := 0
	counted := interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			reads++
			return w.Get(ctx, key, obj, opts...)
		},
	})
	h := New(c.opts, c.Client, counted, true)
	if err := h.Default(by(controller, ""), newPod(ownedBy("apps/v1", "ReplicaSet", "web"))); err != nil {
		t.Fatal(err)
	}
	if reads > 0 {
		t.Errorf("%d live reads", reads)
	}
}

func TestASwitchedOffWebhookAcceptsEverything(t *testing.T) {
	c := newCluster(t)
	h := New(c.opts, c, c, false)
	pod := newPod(queued, annotation(kueue.PodGroupTotalCountAnnotation, "x"))
	before := pod.DeepCopy()
	if err := h.Default(context.Background(), pod); err != nil || !cmp.Equal(before, pod) {
		t.Errorf("default: %v\n%s", err, cmp.Diff(before, pod))
	}
	_, created := h.ValidateCreate(context.Background(), pod)
	_, updated := h.ValidateUpdate(context.Background(), pod, pod)
	if created != nil || updated != nil {
		t.Errorf("create: %v, update: %v", created, updated)
	}
}

func gated(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.AdmissionSchedulingGate}}
}

func inGroup(name, total string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations[kueue.PodGroupNameKey], pod.Annotations[kueue.PodGroupTotalCountAnnotation] = name, total
	}
}

func without(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { delete(pod.Labels, key); delete(pod.Annotations, key) }
}

func TestWhatIsWrongWithANewPod(t *testing.T) {
	const count, name = kueue.PodGroupTotalCountAnnotation, kueue.PodGroupNameKey
	both := func(form string) string {
		return "Required value: both the 'kueue.x-k8s.io/pod-group-total-count' annotation and the 'kueue.x-k8s.io/pod-group-name' " + form + " should be set"
	}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		off  bool // gate WorkloadIdentifierAnnotations
		want string
	}{
		{name: "nothing", pod: newPod()},
		{name: "nothing in a group", pod: newPod(queued, inGroup("g", "2"))},
		{name: "nothing in a group by label", pod: newPod(queued, label(name, "g"), annotation(count, "2"))},
		{name: "the queue's name", pod: newPod(label(kueue.QueueNameLabel, "a_b")), want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "a_b"`},
		{name: "the mark", pod: newPod(label(kueue.ManagedLabel, "yes")), want: "metadata.labels[kueue.x-k8s.io/managed]: Forbidden: managed label value can only be 'true'"},
		{name: "a count without a group", pod: newPod(annotation(count, "2")), want: "metadata.labels[kueue.x-k8s.io/pod-group-name]: " + both("label")},
		{name: "a group without a count", pod: newPod(annotation(name, "g")), want: "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: " + both("annotation")},
		{name: "a group by label without a count", pod: newPod(label(name, "g")), want: "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: " + both("label")},
		{name: "the annotation is not read with the gate off", pod: newPod(inGroup("g", "2")), off: true, want: "metadata.labels[kueue.x-k8s.io/pod-group-name]: " + both("label")},
		{name: "a group of none", pod: newPod(inGroup("g", "0")), want: `metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Invalid value: "0": incorrect annotation value 'kueue.x-k8s.io/pod-group-total-count=0': group total count should be greater than zero`},
		{name: "a group of words", pod: newPod(inGroup("g", "two")), want: `Invalid value: "two": strconv.Atoi: parsing "two": invalid syntax`},
		{name: "a group of too many", pod: newPod(inGroup("g", "2147483648")), want: `Invalid value: "2147483648": strconv.Atoi: parsing "2147483648": value out of range`},
		{name: "the group's name", pod: newPod(inGroup("A", "2")), want: `metadata.annotations[kueue.x-k8s.io/pod-group-name]: Invalid value: "A": a lowercase RFC 1123 subdomain`},
		{name: "another Workload than the group's", pod: newPod(inGroup("g", "2"), annotation(kueue.PrebuiltWorkloadNameKey, "h")), want: `metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: "h": prebuilt workload and pod group should be equal`},
		{name: "nothing with the group's", pod: newPod(inGroup("g", "2"), annotation(kueue.PrebuiltWorkloadNameKey, "g"))},
		{name: "topology", pod: newPod(annotation(kueue.PodSetRequiredTopologyAnnotation, "a"), annotation(kueue.PodSetPreferredTopologyAnnotation, "a")), want: "metadata.annotations: Invalid value: must not contain more than one topology annotation"},
		{name: "slices that are more than the pod", pod: newPod(annotation(kueue.PodSetSliceRequiredTopologyAnnotation, "a"), annotation(kueue.PodSetSliceSizeAnnotation, "2")), want: "must not be greater than pod set count 1"},
		{name: "not slices of its group", pod: newPod(inGroup("g", "4"), annotation(kueue.PodSetSliceRequiredTopologyAnnotation, "a"), annotation(kueue.PodSetSliceSizeAnnotation, "2"))},
		{name: "elastic", pod: newPod(annotation(kueue.ElasticJobAnnotation, "true")), want: `metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported for "/v1, Kind=Pod"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t)
			c.opts.Gates.WorkloadIdentifierAnnotations = !tc.off
			_, err := c.webhook().ValidateCreate(context.Background(), tc.pod)
			checkRefusal(t, err, tc.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("it is accepted, want %s", want)
	case err != nil && want == "":
		t.Errorf("it is refused: %v", err)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %s\nwant %s", err, want)
	}
}

func TestWhatMayChange(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pod     *corev1.Pod
		change  func(*corev1.Pod)
		objects []client.Object
		want    string
	}{
		{name: "the queue while it waits", pod: newPod(queued, gated), change: label(kueue.QueueNameLabel, "other")},
		{name: "not once it runs", pod: newPod(queued), change: label(kueue.QueueNameLabel, "other"), want: `metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "other": field is immutable`},
		{name: "a pod that has ended may", pod: newPod(queued, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), change: label(kueue.QueueNameLabel, "other")},
		{name: "it may join a group", pod: newPod(queued, gated), change: inGroup("g", "2")},
		{name: "but not leave it", pod: newPod(queued, gated, inGroup("g", "2")), change: func(p *corev1.Pod) {
			without(kueue.PodGroupNameKey)(p)
			without(kueue.PodGroupTotalCountAnnotation)(p)
		}, want: `metadata.annotations[kueue.x-k8s.io/pod-group-name]: Invalid value: "": field is immutable`},
		{name: "nor change it", pod: newPod(label(kueue.PodGroupNameKey, "g"), annotation(kueue.PodGroupTotalCountAnnotation, "2")), change: label(kueue.PodGroupNameKey, "h"), want: `metadata.labels[kueue.x-k8s.io/pod-group-name]: Invalid value: "h": field is immutable`},
		{name: "a group can be made unretriable", pod: newPod(inGroup("g", "2")), change: annotation(kueue.RetriableInGroupAnnotation, "false")},
		{name: "but not retriable again", pod: newPod(inGroup("g", "2"), annotation(kueue.RetriableInGroupAnnotation, "false")), change: without(kueue.RetriableInGroupAnnotation), want: "metadata.annotations[kueue.x-k8s.io/retriable-in-group]: Forbidden: unretriable pod group can't be converted to retriable"},
		{name: "which is about groups", pod: newPod(annotation(kueue.RetriableInGroupAnnotation, "false")), change: without(kueue.RetriableInGroupAnnotation)},
		{name: "the mark stays while it may run", pod: newPod(label(kueue.ManagedLabel, "true")), change: without(kueue.ManagedLabel), want: `metadata.labels[kueue.x-k8s.io/managed]: Invalid value: "": field is immutable`},
		{name: "what was wrong before does not keep it", pod: newPod(annotation(kueue.PodGroupTotalCountAnnotation, "x"), label(kueue.ManagedLabel, "no")), change: func(p *corev1.Pod) { p.Finalizers = nil }},
		{name: "what gets wrong does", pod: newPod(inGroup("g", "2")), change: annotation(kueue.PodGroupTotalCountAnnotation, "-1"), want: "group total count should be greater than zero"},
		{name: "the queue is not left where there is a default one", pod: newPod(queued, gated), change: without(kueue.QueueNameLabel), objects: []client.Object{&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}}}, want: "queue-name must not be empty in namespace with default queue"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			changed := tc.pod.DeepCopy()
			tc.change(changed)
			_, err := c.webhook().ValidateUpdate(context.Background(), tc.pod, changed)
			checkRefusal(t, err, tc.want)
		})
	}
}

func TestAPodOfAManagedKindThatIsMarkedIsWarnedAbout(t *testing.T) {
	c := newCluster(t)
	marked := newPod(label(kueue.ManagedLabel, "true"), ownedBy("batch/v1", "Job", "train"))
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		create int
		update int
	}{
		"of a Job":                       {marked, 1, 1},
		"of a ReplicaSet":                {newPod(label(kueue.ManagedLabel, "true"), ownedBy("apps/v1", "ReplicaSet", "web")), 0, 0},
		"without the mark":               {newPod(ownedBy("batch/v1", "Job", "train")), 0, 0},
		"that another integration gates": {newPod(label(kueue.ManagedLabel, "true"), ownedBy("batch/v1", "Job", "train"), annotation(kueue.PodSuspendingParentAnnotation, "x")), 1, 0},
	} {
		created, err := c.webhook().ValidateCreate(context.Background(), tc.pod)
		if err != nil || len(created) != tc.create {
			t.Errorf("%s, created: %v, %v", name, created, err)
		}
		updated, err := c.webhook().ValidateUpdate(context.Background(), tc.pod, tc.pod)
		if err != nil || len(updated) != tc.update {
			t.Errorf("%s, updated: %v, %v", name, updated, err)
		}
	}
	if w, _ := c.webhook().ValidateCreate(context.Background(), marked); w[0] != "pod owner is managed by kueue, label 'kueue.x-k8s.io/managed=true' might lead to unexpected behaviour" {
		t.Errorf("warning is %q", w[0])
	}
}
