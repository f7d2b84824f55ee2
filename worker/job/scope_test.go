package job_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

type options = job.Options

func TestAJobWithoutQueueIsManagedOnlyWhenAllAre(t *testing.T) {
	for manageAll, want := range map[bool]int{false: 0, true: 1} {
		j := newJob()
		delete(j.Labels, kueue.QueueNameLabel)
		c := newClusterWith(t, func(o *options) { o.ManageJobsWithoutQueueName = manageAll }, j)
		c.reconcileAll()
		if n := len(c.workloads()); n != want {
			t.Errorf("manage all %v: %d workloads, want %d", manageAll, n, want)
		}
	}
}

func TestTheNamespaceSelectorHoldsForJobsWithAQueueToo(t *testing.T) {
	for selector, want := range map[string]int{"managed=yes": 1, "managed=no": 0} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		c := newClusterWith(t, func(o *options) { o.Namespaces = parsed }, newJob())
		c.reconcileAll()
		if n := len(c.workloads()); n != want {
			t.Errorf("selector %s: %d workloads, want %d", selector, n, want)
		}
	}
}

// childName is the name of the only child of managedJobSet.
const childName = "set-workers-0"

// childOf returns a running Job of the owner.
func childOf(gvk schema.GroupVersionKind, name, uid string) *batchv1.Job {
	j := newJob()
	j.Name = childName
	delete(j.Labels, kueue.QueueNameLabel)
	j.Spec.Suspend = ptr.To(false)
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, gvk)}
	return j
}

// managedJobSet has one replica that looks like newJob.
func managedJobSet() *jobsetv1.JobSet {
	like := newJob().Spec
	like.Suspend = nil
	return &jobsetv1.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "set", Namespace: namespace, UID: "set-uid", Labels: map[string]string{kueue.QueueNameLabel: "main"},
		},
		Spec: jobsetv1.JobSetSpec{ReplicatedJobs: []jobsetv1.ReplicatedJob{
			{Name: "workers", Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: like}},
		}},
	}
}

// admittedFor returns an admitted Workload of the owner.
func admittedFor(owner client.Object, gvk schema.GroupVersionKind) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: job.WorkloadName(gvk, owner.GetName(), owner.GetUID(), false), UID: "wl-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)},
	}}
	wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}}
	return wl
}

func TestAChildOfAManagedJobSetHasNoWorkloadAndIsSuspendedUntilAdmission(t *testing.T) {
	c := newCluster(t, childOf(jobset.Kind().GVK, "set", "set-uid"), managedJobSet())
	c.target = childName
	c.wantWrites("patch Job")
	c.wantEvents(kueue.EventSuspended)
	if n := len(c.workloads()); n != 0 {
		t.Errorf("%d workloads", n)
	}
}

// A child runs while its JobSet may, and only the JobSet's own, present Workload says so.
func TestAChildOfAJobSetRunsWhileItsOwnersWorkloadIsAdmitted(t *testing.T) {
	gvk := jobset.Kind().GVK
	for name, row := range map[string]struct {
		change func(*jobsetv1.JobSet, *kueue.Workload)
		runs   bool
	}{
		"admitted": {func(*jobsetv1.JobSet, *kueue.Workload) {}, true},
		"evicted": {func(_ *jobsetv1.JobSet, wl *kueue.Workload) {
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue})
		}, false},
		"finished": {func(_ *jobsetv1.JobSet, wl *kueue.Workload) {
			wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue})
		}, false},
		"a Workload of somebody else that the JobSet names as prebuilt": {func(js *jobsetv1.JobSet, wl *kueue.Workload) {
			js.Annotations = map[string]string{kueue.PrebuiltWorkloadNameKey: "borrowed"}
			wl.Name, wl.OwnerReferences[0].UID = "borrowed", "another-uid"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			js := managedJobSet()
			wl := admittedFor(js, gvk)
			row.change(js, wl)
			c := newCluster(t, childOf(gvk, "set", "set-uid"), js, wl)
			c.target = childName
			c.reconcileAll()
			if suspended := ptr.Deref(c.job().Spec.Suspend, false); suspended == row.runs {
				t.Errorf("suspended %v", suspended)
			}
		})
	}
}

// The author of a Job writes its owner references too. Only a Job that its owner's controller makes, and no larger one, is
// paid for by the owner's quota.
func TestNobodyEscapesQuotaByNamingAnAdmittedOwner(t *testing.T) {
	sets := jobset.Kind().GVK
	batch := batchjob.Kind().GVK
	admittedJob := newJob()
	admittedJob.Name, admittedJob.UID = "paid", "paid-uid"
	large := func(j *batchv1.Job) {
		j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	}
	for name, row := range map[string]struct {
		gvk      schema.GroupVersionKind
		owner    string
		change   func(*batchv1.Job)
		isAChild bool
	}{
		"a batch Job makes no Jobs":               {gvk: batch, owner: "paid"},
		"a batch Job makes no Jobs of that name":  {gvk: batch, owner: "paid", change: func(j *batchv1.Job) { j.Name = "paid-main-0" }},
		"a JobSet makes this one":                 {gvk: sets, owner: "set", isAChild: true},
		"a JobSet of another UID":                 {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.OwnerReferences[0].UID = "older" }},
		"a JobSet that does not exist":            {gvk: sets, owner: "ghost"},
		"a kind that has such a name elsewhere":   {gvk: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "JobSet"}, owner: "set"},
		"a version that is not served":            {gvk: schema.GroupVersionKind{Group: sets.Group, Version: "v9", Kind: "JobSet"}, owner: "set"},
		"a ReplicaSet makes no Jobs":              {gvk: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, owner: "set"},
		"a JobSet gives its Jobs other names":     {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.Name = "set-extra" }},
		"a JobSet has no replica of that number":  {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.Name = "set-workers-1" }},
		"numbers have one spelling":               {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.Name = "set-workers-00" }},
		"a replica has fewer pods":                {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](3), nil }},
		"a replica's pods are smaller":            {gvk: sets, owner: "set", change: large},
		"a replica's pods have no such container": {gvk: sets, owner: "set", change: func(j *batchv1.Job) { large(j); j.Spec.Template.Spec.InitContainers = j.Spec.Template.Spec.Containers }},
		"a reference that is no controller's":     {gvk: sets, owner: "set", change: func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			j := childOf(row.gvk, row.owner, row.owner+"-uid")
			if row.change != nil {
				row.change(j)
			}
			js := managedJobSet()
			c := newClusterWith(t, func(o *options) { o.ManageJobsWithoutQueueName = true }, j, js, admittedFor(js, sets), admittedJob, admittedFor(admittedJob, batch))
			c.target = j.Name
			before := len(c.workloads())
			c.reconcileAll()
			if ran := !ptr.Deref(c.job().Spec.Suspend, false); ran != row.isAChild {
				t.Errorf("it runs without quota of its own: %v", ran)
			}
			if own := len(c.workloads()) > before; own == row.isAChild {
				t.Errorf("it has a Workload of its own: %v", own)
			}
			created := childOf(row.gvk, row.owner, row.owner+"-uid")
			if row.change != nil {
				row.change(created)
			}
			if err := job.NewWebhook(batchjob.Kind(), c.options, c, true).Default(context.Background(), created); err != nil {
				t.Fatal(err)
			}
			if ran := !ptr.Deref(created.Spec.Suspend, false); ran != row.isAChild {
				t.Errorf("it is created as one that runs: %v", ran)
			}
		})
	}
}

func TestAnOwnerIsToldTheKindOfItsChild(t *testing.T) {
	var told schema.GroupVersionKind
	kind := jobset.Kind()
	kind.Children = &job.Children[*jobsetv1.JobSet]{Covers: func(_ *jobsetv1.JobSet, child client.Object) bool {
		told = child.GetObjectKind().GroupVersionKind()
		return true
	}}
	c := newClusterWith(t, func(o *options) {
		o.Kinds = []job.Integration{job.NewIntegration(batchjob.Kind()), job.NewIntegration(kind)}
	}, managedJobSet())
	child := childOf(kind.GVK, "set", "set-uid") // it does not say of what kind it is
	if err := job.NewWebhook(batchjob.Kind(), c.options, c, true).Default(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if want := batchjob.Kind().GVK; told != want {
		t.Errorf("the child is said to be a %v, not a %v", told, want)
	}
}

func TestAnOwnerThatWasReplacedSaysNothing(t *testing.T) {
	child := childOf(jobset.Kind().GVK, "set", "an-older-uid")
	child.Labels = map[string]string{kueue.QueueNameLabel: "main"}
	child.Spec.Suspend = ptr.To(true)
	c := newCluster(t, child, managedJobSet())
	c.target = childName
	c.wantWrites("create Workload")
}

func TestAChainOfOwnersWithoutEndIsReported(t *testing.T) {
	external := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	circle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "circle", UID: "circle-uid"}}
	circle.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(circle, external)}
	j := newJob()
	j.OwnerReferences = circle.OwnerReferences
	c := newClusterWith(t, func(o *options) { o.ExternalFrameworks = []schema.GroupVersionKind{external} }, j, circle)
	c.wantWrites()
	c.wantEvents(kueue.EventJobNestingTooDeep)
}

func TestAChangedWorkloadLeadsToItsJob(t *testing.T) {
	waiting := newJob()
	waiting.Annotations[kueue.PrebuiltWorkloadNameKey] = "prebuilt"
	c := newCluster(t, waiting)
	owned := prebuilt()
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(waiting, batchjob.Kind().GVK)}
	foreign := prebuilt()
	foreign.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(managedJobSet(), jobset.Kind().GVK)}
	for name, row := range map[string]struct {
		wl   *kueue.Workload
		want int
	}{
		"by its owner": {owned, 1}, "by the name it was promised under": {prebuilt(), 1}, "not to another kind's": {foreign, 0},
	} {
		if got := job.RequestsForWorkload(batchjob.Kind(), c, row.wl); len(got) != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
