package jobtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/admission/lifecycle"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/workload"
)

// lifecycle holds the laws of a job under the reconciler of its kind.
func (s suite[T]) lifecycle(t *testing.T) {
	t.Helper()
	for name, law := range map[string]func(suite[T]){
		"a job waits for its admission, is placed and started":           suite[T].starts,
		"an evicted job stops before its quota goes, and starts again":   suite[T].evicted,
		"how a job ended is recorded with its own message":               suite[T].finishes,
		"a job that runs without admission is stopped":                   suite[T].unadmitted,
		"a job that asks for something else gets another Workload":       suite[T].changed,
		"a job of an epoch that is over takes up no Workload of another": suite[T].epoch,
	} {
		t.Run(name, func(t *testing.T) { law(s.in(t)) })
	}
	if s.kind.ManagedBy != nil {
		t.Run("a job that runs elsewhere is resumed and not placed", func(t *testing.T) { s.in(t).elsewhere() })
	}
}

func (s suite[T]) starts() {
	t := s.t
	c := s.newCluster(s.Job())
	c.reconcile()
	want := s.sets(t, s.Job())
	if diff := cmp.Diff(want, c.workload().Spec.PodSets); !job.SamePodSets(want, c.workload().Spec.PodSets) {
		t.Errorf("the Workload's pod sets differ (-job +workload):\n%s", diff)
	}
	if !s.kind.Suspended(c.job()) {
		t.Error("the job runs without admission")
	}
	c.admit()
	c.reconcile()
	s.isStarted(c)
	c.changeStatus(s.Started)
	c.reconcile()
	c.hasCondition(kueue.WorkloadPodsReady, "True "+string(kueue.ReasonStarted))
}

// isStarted tells whether the job runs where the flavor is.
func (s suite[T]) isStarted(c *cluster[T]) {
	s.t.Helper()
	j := c.job()
	if s.kind.Suspended(j) {
		s.t.Fatalf("the admitted job is suspended; events: %v", c.events())
	}
	for _, set := range s.sets(s.t, j) {
		if set.Template.Spec.NodeSelector["jobtest/gpu"] != "h100" || set.Template.Labels[kueue.PodSetLabel] != string(set.Name) {
			s.t.Errorf("pod set %s is not placed: node selector %v, labels %v", set.Name, set.Template.Spec.NodeSelector, set.Template.Labels)
		}
	}
}

// startedCluster is one in which the job runs, all pods ready.
func (s suite[T]) startedCluster() *cluster[T] {
	s.t.Helper()
	c := s.newCluster(s.Job())
	c.reconcile()
	c.admit()
	c.reconcile()
	c.changeStatus(s.Started)
	c.reconcile()
	return c
}

func (s suite[T]) evicted() {
	t := s.t
	c := s.startedCluster()
	c.apply(func(wl *kueue.Workload) {
		workload.Evict(wl, lifecycle.Eviction{Reason: "Preempted", Message: "made room"}, c.clock.Now())
	})
	c.reconcile()
	if !s.kind.Suspended(c.job()) {
		t.Fatal("the evicted job is not suspended")
	}
	if c.workload().Status.Admission == nil {
		t.Error("quota was released while pods run")
	}
	c.changeStatus(s.Suspending)
	c.reconcile()
	if c.workload().Status.Admission != nil {
		t.Fatal("quota is still reserved when the pods are gone")
	}
	if want, got := s.sets(t, s.Job()), s.sets(t, c.job()); !job.SamePodSets(want, got) {
		t.Errorf("the job was not restored (-want +got):\n%s", cmp.Diff(want, got))
	}
	c.hasCondition(kueue.WorkloadRequeued, "True Preempted")
	c.admit()
	c.reconcile()
	s.isStarted(c)
}

func (s suite[T]) finishes() {
	for reason, end := range map[kueue.Reason]func(T){kueue.ReasonSucceeded: s.Succeeded, kueue.ReasonFailed: s.Failed} {
		if end == nil {
			continue
		}
		c := s.startedCluster()
		c.changeStatus(end)
		c.reconcile()
		c.hasCondition(kueue.WorkloadFinished, "True "+string(reason))
		if left := c.workload().Finalizers; len(left) > 0 {
			s.t.Errorf("finalizers are left: %v", left)
		}
		c.apply(func(wl *kueue.Workload) { wl.Status.Admission = nil })
		c.reconcile()
		c.hasCondition(kueue.WorkloadFinished, "True "+string(reason))
	}
}

func (s suite[T]) unadmitted() {
	j := s.Job()
	s.kind.SetSuspend(j, false)
	c := s.newCluster(j)
	c.reconcile()
	if !s.kind.Suspended(c.job()) {
		s.t.Error("a job that was resumed by hand runs without quota")
	}
	c.reconcile()
	c.workload()
}

func (s suite[T]) changed() {
	t := s.t
	c := s.newCluster(s.Job())
	c.reconcile()
	wl := c.workload()
	wl.Spec.PodSets[0].Count += 3
	if err := c.Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if want, got := s.sets(t, s.Job()), c.workload().Spec.PodSets; !job.SamePodSets(want, got) {
		t.Errorf("the Workload was not brought in line (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// prebuilt is a Workload that a hub has made for the job in an epoch.
func (s suite[T]) prebuilt(epoch string) *kueue.Workload {
	s.t.Helper()
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Name: "prebuilt", Namespace: s.Job().GetNamespace(), UID: "prebuilt-uid", Labels: map[string]string{kueue.MultiKueueOriginLabel: origin},
		Annotations: map[string]string{switchyard.OwnerUIDAnnotation: "u", switchyard.EpochAnnotation: epoch},
	}}
	wl.Spec.QueueName, wl.Spec.PodSets = "main", s.sets(s.t, s.Job())
	return wl
}

// madeByHub is the job as a hub has made it in an epoch.
func (s suite[T]) madeByHub(epoch string) T {
	j := s.Job()
	labels := j.GetLabels()
	labels[kueue.MultiKueueOriginLabel] = origin
	j.SetLabels(labels)
	j.SetAnnotations(map[string]string{
		kueue.PrebuiltWorkloadNameKey: "prebuilt", switchyard.OwnerUIDAnnotation: "u", switchyard.EpochAnnotation: epoch,
	})
	return j
}

func (s suite[T]) epoch() {
	for at, adopted := range map[string]bool{"2": false, "3": true} {
		j := s.madeByHub(at)
		s.kind.SetSuspend(j, false)
		c := s.newCluster(j, s.prebuilt("3"))
		c.reconcile()
		if got := len(c.workload().OwnerReferences) > 0; got != adopted {
			s.t.Errorf("a job of epoch %s: adopted %v, want %v", at, got, adopted)
		}
		if !s.kind.Suspended(c.job()) {
			s.t.Errorf("a job of epoch %s goes on without admission", at)
		}
	}
}

func (s suite[T]) elsewhere() {
	t := s.t
	c := s.newCluster(s.handed())
	c.reconcile()
	c.admit()
	before := s.sets(t, c.job())
	c.reconcile()
	if s.kind.Suspended(c.job()) {
		t.Error("the job that runs elsewhere is not resumed here")
	}
	if diff := cmp.Diff(before, s.sets(t, c.job())); diff != "" {
		t.Errorf("the job that runs elsewhere was placed (-before +after):\n%s", diff)
	}
}

// webhooks holds what the webhooks of every kind do and say.
func (s suite[T]) webhooks(t *testing.T) {
	t.Helper()
	for name, law := range map[string]func(suite[T]){
		"a job with a queue is suspended when it is created":        suite[T].defaults,
		"wrong labels and annotations are refused by their texts":   suite[T].refused,
		"a running job keeps its queue, its limit and its Workload": suite[T].immutable,
	} {
		t.Run(name, func(t *testing.T) { law(s.in(t)) })
	}
}

func (s suite[T]) defaults() {
	t := s.t
	c := s.newCluster(s.Job())
	for queue, want := range map[string]bool{"main": true, "": false} {
		j := s.Job()
		s.kind.SetSuspend(j, false)
		labels := j.GetLabels()
		delete(labels, kueue.QueueNameLabel)
		if queue != "" {
			labels[kueue.QueueNameLabel] = queue
		}
		j.SetLabels(labels)
		if err := c.webhook.Default(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if got := s.kind.Suspended(j); got != want {
			t.Errorf("a job of queue %q: suspended %v, want %v", queue, got, want)
		}
		if _, err := c.webhook.ValidateCreate(t.Context(), j); err != nil {
			t.Errorf("the example is refused: %v", err)
		}
	}
}

func (s suite[T]) refused() {
	c := s.newCluster(s.Job())
	for text, change := range map[string]func(labels, annotations map[string]string){
		"metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"NOT\"": func(l, _ map[string]string) { l[kueue.QueueNameLabel] = "NOT" },
		"metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"0\": should be greater than 0": func(l, _ map[string]string) {
			l[kueue.MaxExecTimeSecondsLabel] = "0"
		},
		"metadata.annotations[kueue.x-k8s.io/admission-gated-by]": func(_, a map[string]string) { a[kueue.AdmissionGatedByAnnotation] = "a.io/x,," },
	} {
		s.wantRefusal(c, text, s.with(change))
	}
	if s.kind.Elastic == nil {
		s.wantRefusal(c, "metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported for \""+s.kind.GVK.String()+"\"",
			s.with(func(_, a map[string]string) { a[kueue.ElasticJobAnnotation] = "true" }))
	}
	if s.kind.Webhook.NoPrebuilt {
		s.wantRefusal(c, "metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Forbidden: Is not supported for \""+s.kind.GVK.String()+"\"",
			s.with(func(_, a map[string]string) { a[kueue.PrebuiltWorkloadNameKey] = "prebuilt" }))
	}
}

// with is the example with other labels and annotations.
func (s suite[T]) with(change func(labels, annotations map[string]string)) T {
	j := s.Job()
	labels, annotations := j.GetLabels(), j.GetAnnotations()
	change(labels, annotations)
	j.SetLabels(labels)
	j.SetAnnotations(annotations)
	return j
}

func (s suite[T]) wantRefusal(c *cluster[T], text string, j T) {
	s.t.Helper()
	if _, err := c.webhook.ValidateCreate(s.t.Context(), j); err == nil || !strings.Contains(err.Error(), text) {
		s.t.Errorf("refused with %v, want %s", err, text)
	}
}

func (s suite[T]) immutable() {
	t := s.t
	c := s.newCluster(s.Job())
	old := s.Job()
	s.kind.SetSuspend(old, false)
	for text, change := range map[string]func(labels, annotations map[string]string){
		"metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is immutable": func(l, _ map[string]string) {
			l[kueue.QueueNameLabel] = "other"
		},
		"metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"60\": field is immutable": func(l, _ map[string]string) {
			l[kueue.MaxExecTimeSecondsLabel] = "60"
		},
		"metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: \"high\": WorkloadPriorityClass cannot be added to a non-suspended workload": func(l, _ map[string]string) {
			l[kueue.PriorityClassLabel] = "high"
		},
		"metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: \"prebuilt\": field is immutable": func(_, a map[string]string) {
			a[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
		},
	} {
		j := s.with(change)
		s.kind.SetSuspend(j, false)
		if _, err := c.webhook.ValidateUpdate(t.Context(), old, j); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("refused with %v, want %s", err, text)
		}
	}
	if _, err := c.webhook.ValidateUpdate(t.Context(), old, client.Object(old).DeepCopyObject().(T)); err != nil {
		t.Errorf("a job that does not change is refused: %v", err)
	}
}
