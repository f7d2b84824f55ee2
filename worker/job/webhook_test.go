package job_test

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

func localQueue(name string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cq"},
	}
}

// dispatched are a ClusterQueue that sends jobs to other clusters, and its check.
func dispatched() []client.Object {
	cq := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
	cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{
		AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "other"}, {Name: "mk"}},
	}
	return []client.Object{
		cq,
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: kueue.AdmissionCheckSpec{ControllerName: "x/y"}},
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}, Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}},
	}
}

func written(change func(*batchv1.Job)) *batchv1.Job {
	j := newJob()
	j.Spec.Suspend = nil
	change(j)
	return j
}

func TestAManagedJobIsSuspendedWhenItIsCreated(t *testing.T) {
	unselected, err := labels.Parse("managed=no")
	if err != nil {
		t.Fatal(err)
	}
	unlabelled := func(j *batchv1.Job) { j.Labels = nil }
	for name, c := range map[string]struct {
		configure func(*options)
		job       *batchv1.Job
		objects   []client.Object
		disabled  bool
		want      bool
	}{
		"with a queue":                      {job: written(func(*batchv1.Job) {}), want: true},
		"without a queue it is not":         {job: written(unlabelled)},
		"unless all jobs are managed":       {job: written(unlabelled), configure: func(o *options) { o.ManageJobsWithoutQueueName = true }, want: true},
		"with a default queue":              {job: written(unlabelled), objects: []client.Object{localQueue("default")}, want: true},
		"not in a namespace out of scope":   {job: written(func(*batchv1.Job) {}), configure: func(o *options) { o.Namespaces = unselected }},
		"not as child of a managed job":     {job: childOf(jobset.Kind().GVK, "set", "set-uid"), objects: []client.Object{managedJobSet(), localQueue("default")}},
		"not when the kind is switched off": {job: written(func(*batchv1.Job) {}), disabled: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.configure == nil {
				c.configure = func(*options) {}
			}
			cl := newClusterWith(t, c.configure, c.objects...)
			h := job.NewWebhook(batchjob.Kind(), cl.options, cl, !c.disabled)
			if err := h.Default(context.Background(), c.job); err != nil {
				t.Fatal(err)
			}
			if got := ptr.Deref(c.job.Spec.Suspend, false); got != c.want {
				t.Errorf("suspended %v, want %v", got, c.want)
			}
		})
	}
}

func TestAJobOfADispatchedQueueIsHandedToTheDispatcher(t *testing.T) {
	for before, want := range map[string]string{
		"":                         kueue.MultiKueueControllerName,
		batchv1.JobControllerName:  kueue.MultiKueueControllerName,
		"example.com/someone-else": "example.com/someone-else",
	} {
		j := written(func(j *batchv1.Job) {
			if before != "" {
				j.Spec.ManagedBy = ptr.To(before)
			}
		})
		c := newCluster(t, append(dispatched(), localQueue("main"))...)
		if err := job.NewWebhook(batchjob.Kind(), c.options, c, true).Default(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		if got := ptr.Deref(j.Spec.ManagedBy, ""); got != want {
			t.Errorf("managed by %q became %q, want %q", before, got, want)
		}
	}
}

func TestAJobOfALocalQueueKeepsItsController(t *testing.T) {
	j := written(func(*batchv1.Job) {})
	c := newCluster(t, localQueue("main"), &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}})
	if err := job.NewWebhook(batchjob.Kind(), c.options, c, true).Default(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	if j.Spec.ManagedBy != nil {
		t.Errorf("managed by %q", *j.Spec.ManagedBy)
	}
}

func TestTheDefaultPriorityClassIsForJobsThatMakeTheirWorkload(t *testing.T) {
	class := &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		want   string
	}{
		"without a class":          {func(*batchv1.Job) {}, "default"},
		"with a class":             {func(j *batchv1.Job) { j.Labels[kueue.PriorityClassLabel] = "high" }, "high"},
		"with a prebuilt workload": {func(j *batchv1.Job) { j.Annotations[kueue.PrebuiltWorkloadNameKey] = "wl" }, ""},
	} {
		j := written(c.change)
		cl := newCluster(t, class.DeepCopy())
		if err := job.NewWebhook(batchjob.Kind(), cl.options, cl, true).Default(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		if got := j.Labels[kueue.PriorityClassLabel]; got != c.want {
			t.Errorf("%s: class %q, want %q", name, got, c.want)
		}
	}
}

func TestWhatAManagedJobMustNotSay(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		kueue.QueueNameLabel:              func(j *batchv1.Job) { j.Labels[kueue.QueueNameLabel] = "not valid" },
		kueue.MaxExecTimeSecondsLabel:     func(j *batchv1.Job) { j.Labels[kueue.MaxExecTimeSecondsLabel] = "0" },
		kueue.PrebuiltWorkloadNameKey:     func(j *batchv1.Job) { j.Annotations[kueue.PrebuiltWorkloadNameKey] = "NOT" },
		kueue.AdmissionGatedByAnnotation:  func(j *batchv1.Job) { j.Annotations[kueue.AdmissionGatedByAnnotation] = strings.Repeat("g", 64) },
		kueue.JobMinParallelismAnnotation: func(j *batchv1.Job) { j.Annotations[kueue.JobMinParallelismAnnotation] = "9" },
	} {
		c := newCluster(t)
		j := written(change)
		if _, err := job.NewWebhook(batchjob.Kind(), c.options, c, true).ValidateCreate(context.Background(), j); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := job.NewWebhook(batchjob.Kind(), c.options, c, false).ValidateCreate(context.Background(), j); err != nil {
			t.Errorf("%s: a switched off kind says %v", name, err)
		}
	}
}

func TestElasticJobSetsAreRefused(t *testing.T) {
	js := managedJobSet()
	js.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"}
	c := newCluster(t)
	if _, err := job.NewWebhook(jobset.Kind(), c.options, c, true).ValidateCreate(context.Background(), js); err == nil {
		t.Error("accepted")
	}
}

func TestWhatMayChangeOfAJob(t *testing.T) {
	run := func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }
	label := func(key, value string) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			if j.Labels[key] = value; value == "" {
				delete(j.Labels, key)
			}
		}
	}
	gates := func(value string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Annotations[kueue.AdmissionGatedByAnnotation] = value }
	}
	defaultQueue := []client.Object{localQueue("default")}
	for name, c := range map[string]struct {
		old, now []func(*batchv1.Job)
		objects  []client.Object
		allowed  bool
	}{
		"the queue of a suspended job":                {now: changes(label(kueue.QueueNameLabel, "other")), allowed: true},
		"the queue of a running job":                  {old: changes(run), now: changes(run, label(kueue.QueueNameLabel, "other"))},
		"the queue while the job starts":              {now: changes(run, label(kueue.QueueNameLabel, "other"))},
		"removing the queue":                          {now: changes(label(kueue.QueueNameLabel, "")), allowed: true},
		"removing the queue where there is a default": {now: changes(label(kueue.QueueNameLabel, "")), objects: defaultQueue},
		"the time limit of a suspended job":           {now: changes(label(kueue.MaxExecTimeSecondsLabel, "9")), allowed: true},
		"the time limit while the job starts":         {now: changes(run, label(kueue.MaxExecTimeSecondsLabel, "9"))},
		"the time limit while the job stops":          {old: changes(run), now: changes(label(kueue.MaxExecTimeSecondsLabel, "9"))},
		"the priority class of a running job":         {old: changes(run, label(kueue.PriorityClassLabel, "a")), now: changes(run, label(kueue.PriorityClassLabel, "b")), allowed: true},
		"adding a priority class to a running job":    {old: changes(run), now: changes(run, label(kueue.PriorityClassLabel, "b"))},
		"adding a priority class to a suspended job":  {now: changes(label(kueue.PriorityClassLabel, "b")), allowed: true},
		"removing the priority class":                 {old: changes(label(kueue.PriorityClassLabel, "a"))},
		"removing a gate":                             {old: changes(gates("a,b")), now: changes(gates("b")), allowed: true},
		"adding a gate":                               {old: changes(gates("a")), now: changes(gates("a,b"))},
		"writing gates in other words":                {old: changes(gates("a,b")), now: changes(gates(" b, a ")), allowed: true},
		"the prebuilt workload of a running job":      {old: changes(run), now: changes(run, label(kueue.PrebuiltWorkloadNameKey, "wl"))},
		"starting alone":                              {now: changes(run), allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := newJob(), newJob()
			for _, change := range c.old {
				change(old)
			}
			for _, change := range c.now {
				change(now)
			}
			cl := newCluster(t, c.objects...)
			_, err := job.NewWebhook(batchjob.Kind(), cl.options, cl, true).ValidateUpdate(context.Background(), old, now)
			if (err == nil) != c.allowed {
				t.Errorf("allowed %v: %v", c.allowed, err)
			}
		})
	}
}

func changes(list ...func(*batchv1.Job)) []func(*batchv1.Job) { return list }

func TestGatesAreOnlyGuardedWithTheirFeature(t *testing.T) {
	old, now := newJob(), newJob()
	now.Annotations[kueue.AdmissionGatedByAnnotation] = strings.Repeat("g", 64)
	c := newClusterWith(t, func(o *options) { o.Gates.AdmissionGatedBy = false })
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	if _, err := h.ValidateUpdate(context.Background(), old, now); err != nil {
		t.Errorf("update: %v", err)
	}
	if _, err := h.ValidateCreate(context.Background(), now); err != nil {
		t.Errorf("create: %v", err)
	}
}
