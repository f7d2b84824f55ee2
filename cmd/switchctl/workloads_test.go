package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
)

// aWorkload is one of the namespace team, of queue train, that asks for four GPUs.
func aWorkload(name, kind, job string, conditions ...metav1.Condition) *kueue.Workload {
	group := "batch/v1"
	if kind == "JobSet" {
		group = "jobset.x-k8s.io/v1alpha2"
	}
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, CreationTimestamp: ago(time.Hour),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: group, Kind: kind, Name: job, UID: "1", Controller: ptr.To(true)}},
		},
		Spec: kueue.WorkloadSpec{QueueName: "train", Priority: ptr.To[int32](100), PodSets: []kueue.PodSet{{
			Name: "main", Count: 2, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}},
			}}}},
		}}},
		Status: kueue.WorkloadStatus{Conditions: conditions},
	}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string, before time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(before)}
}

func reservedIn(queue string) *kueue.Admission {
	return &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue), PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "main", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"nvidia.com/gpu": "h100"},
		ResourceUsage: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")},
	}}}
}

const noQuota = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed, " +
	"request for nvidia.com/gpu in flavor l4 exceeds the maximum quota: 4 requested, at most 2 possible"

// aHub has a workload of every status, and queues.
func aHub(t *testing.T) *terminal {
	t.Helper()
	waiting := aWorkload("job-waiting-1", "Job", "waiting", condition(kueue.WorkloadQuotaReserved, "False", "WaitingForQuota", noQuota, time.Minute))
	offered := aWorkload("job-offered-1", "Job", "offered", condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "Quota reserved", time.Minute))
	offered.Status.Admission = reservedIn("gpus")
	offered.Status.NominatedClusterNames = []string{"w1", "w2"}
	offered.Status.AdmissionChecks = []kueue.AdmissionCheckState{{
		Name: "workers", State: kueue.CheckStatePending, LastTransitionTime: ago(time.Minute),
		Message: `no cluster has admitted it yet; "w1" waits for quota: insufficient unused quota for nvidia.com/gpu in flavor a100, 1 more needed; "w2" cannot be reached`,
	}}
	running := aWorkload("jobset-running-1", "JobSet", "running", condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "", 40*time.Minute),
		condition(kueue.WorkloadAdmitted, "True", "Admitted", "", 30*time.Minute))
	running.Status.Admission, running.Status.ClusterName = reservedIn("gpus"), ptr.To("w1")
	running.Status.AdmissionChecks = []kueue.AdmissionCheckState{{
		Name: "workers", State: kueue.CheckStateReady, LastTransitionTime: ago(30 * time.Minute), Message: `The workload was admitted on "w1"`,
	}}
	done := aWorkload("job-done-1", "Job", "done", condition(kueue.WorkloadFinished, "True", "Succeeded", "Job finished successfully", 5*time.Minute))
	queue := aQueue("gpus", "workers")
	queue.CreationTimestamp = ago(48 * time.Hour)
	queue.Spec.CohortName, queue.Spec.QueueingStrategy = "research", kueue.BestEffortFIFO
	queue.Spec.ResourceGroups = []kueue.ResourceGroup{{CoveredResources: []corev1.ResourceName{"nvidia.com/gpu"}, Flavors: []kueue.FlavorQuotas{
		{Name: "h100", Resources: []kueue.ResourceQuota{{Name: "nvidia.com/gpu", NominalQuota: resource.MustParse("8")}}},
		{Name: "l4", Resources: []kueue.ResourceQuota{{Name: "nvidia.com/gpu", NominalQuota: resource.MustParse("2")}}},
	}}}
	queue.Status = kueue.ClusterQueueStatus{
		PendingWorkloads: 1, ReservingWorkloads: 2, AdmittedWorkloads: 1,
		Conditions:         []metav1.Condition{condition(kueue.ClusterQueueActive, "True", "Ready", "Can admit new workloads", time.Hour)},
		FlavorsReservation: []kueue.FlavorUsage{{Name: "h100", Resources: []kueue.ResourceUsage{{Name: "nvidia.com/gpu", Total: resource.MustParse("6")}}}},
	}
	local := aLocalQueue("team", "train", "gpus")
	local.CreationTimestamp, local.Status.PendingWorkloads, local.Status.AdmittedWorkloads = ago(48*time.Hour), 1, 1
	return newTerminal(t, waiting, offered, running, done, queue, local, aCheck("workers"), fleetConfig("workers", "w1", "w2", "w3"),
		workerCluster("w1", "True", "Active", "Connected"), workerCluster("w2", "False", "ClientConnectionFailed", "connection refused"),
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "h100", CreationTimestamp: ago(time.Hour)}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"b": "2", "a": "1"}}},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "e1"}, InvolvedObject: corev1.ObjectReference{Kind: "Workload", Name: "jobset-running-1"},
			Type: "Normal", Reason: "MultiKueue", Message: `The workload was admitted on "w1"`, ReportingController: "switchyard", EventTime: metav1.NewMicroTime(now.Add(-30 * time.Minute)),
		})
}

func TestListsHaveTheClusterColumn(t *testing.T) {
	x := aHub(t)
	x.pending = `{"items": [{"metadata": {"namespace": "team", "name": "job-waiting-1"}, "positionInClusterQueue": 3}]}`
	golden(t, "list-workload.txt", x.ok("list workload"))
	x.hidesClusterQueues = true // as to people who see the queues of their namespaces only
	golden(t, "list-workload.txt", x.ok("list workload"))
	x.hidesClusterQueues = false
	golden(t, "list-workload-all-wide.txt", x.ok("list wl -A -o wide"))
	golden(t, "list-localqueue.txt", x.ok("list lq"))
	golden(t, "list-clusterqueue-wide.txt", x.ok("list cq -o wide"))
	golden(t, "list-resourceflavor.txt", x.ok("list rf"))
	if got, want := x.ok("get workload job-done-1 --no-headers -o name"), "workload.kueue.x-k8s.io/job-done-1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if out := x.ok("get cq/gpus -o yaml"); !strings.Contains(out, "kind: ClusterQueue") || strings.Contains(out, "kind: List") {
		t.Error(out)
	}
}

func TestListsAreFiltered(t *testing.T) {
	x := aHub(t)
	for flags, want := range map[string]string{
		"--status pending":                         "job-waiting-1",
		"--status quotareserved --status finished": "job-done-1 job-offered-1",
		"--status all -c gpus -q train":            "job-done-1 job-offered-1 job-waiting-1 jobset-running-1",
		"-c other":                                 "",
		"-q other":                                 "",
		"--for jobset/running":                     "jobset-running-1",
		"--for job.batch/waiting":                  "job-waiting-1",
		"--for Job.batch/running":                  "",
		"--cluster-name w1":                        "jobset-running-1",
		"-n elsewhere":                             "",
	} {
		got := strings.ReplaceAll(strings.TrimSpace(x.ok("list workload -o name "+flags)), "workload.kueue.x-k8s.io/", "")
		if diff := cmp.Diff(want, strings.Join(strings.Fields(got), " ")); diff != "" {
			t.Errorf("%s: %s", flags, diff)
		}
	}
	if out := x.ok("list clusterqueue --active false -o name"); out != "" {
		t.Error(out)
	}
	x.fails("list workload --status bogus", exit.Usage, "want all, pending")
	x.fails("list workload --for bogus/x", exit.Usage, "names no kind of job")
	x.fails("list clusterqueue --active maybe", exit.Usage, "want true or false")
	x.fails("get workload nobody", exit.NotFound, "nobody")
}

func TestAWorkloadIsExplainedFlavorByFlavorAndClusterByCluster(t *testing.T) {
	x := aHub(t)
	golden(t, "explain-waiting.txt", x.ok("explain job/waiting"))
	golden(t, "explain-offered.txt", x.ok("explain job-offered-1"))
	golden(t, "explain-running.txt", x.ok("explain workload/jobset-running-1"))
	golden(t, "explain-done.txt", x.ok("explain job/done"))
	x.fails("explain nobody", exit.NotFound, "a job is named as job/NAME")
	x.fails("explain job/nobody", exit.NotFound, "find job.batch/nobody")
}

func TestAJobThatNobodyQueuesIsExplainedToo(t *testing.T) {
	x := newTerminal(t, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "free"}},
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lost", Labels: map[string]string{kueue.QueueNameLabel: "nowhere"}}},
		aWorkload("job-orphan", "Job", "orphan"))
	x.fails("explain job/free", exit.NotFound, "it names no queue")
	x.fails("explain job/lost", exit.NotFound, `does its LocalQueue "nowhere" exist`)
	if out := x.ok("explain job/orphan"); !strings.Contains(out, "does not exist: create it") {
		t.Error(out)
	}
}

func TestDescriptionsHaveTheClusterAndTheEvents(t *testing.T) {
	x := aHub(t)
	golden(t, "describe-workload.txt", x.ok("describe workload jobset-running-1"))
	golden(t, "describe-localqueue.txt", x.ok("describe lq train"))
	golden(t, "describe-clusterqueue.txt", x.ok("describe cq gpus"))
	x.fails("describe cq", exit.Usage, "which clusterqueue?")
	x.fails("describe cq nobody", exit.NotFound, "nobody")
}

func TestOtherKindsAndFlagsAreKubectls(t *testing.T) {
	x := aHub(t)
	for line, want := range map[string]string{
		"get nodes -o wide": "get nodes -o wide",
		"get wl -w":         "get workload -w",
		"get wl -o custom-columns=A:.metadata.name": "get workload -o custom-columns=A:.metadata.name",
		"describe node n1":                          "describe node n1",
		"edit cq gpus --context hub":                "edit clusterqueue gpus --context hub",
		"patch lq train -p {} --system-namespace=x": "patch localqueue train -p {}",
		"edit --system-namespace x -n team lq/a":    "edit -n team localqueue/a",
		"get deployment queue -w":                   "get deployment queue -w",
		"edit --context cq lq queue":                "edit --context cq localqueue queue",
		"patch --type merge -p {} cq pods":          "patch --type merge -p {} clusterqueue pods",
		"describe mkc w1 --context hub":             "describe multikueuecluster w1 --context hub",
		"delete lq train --system-namespace x -nq":  "delete localqueue train -nq",
	} {
		x.ok(line)
		if got := strings.Join(x.kubectl, " "); got != want {
			t.Errorf("%s: passed %q, want %q", line, got, want)
		}
	}
}

const trainJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {template: {spec: {restartPolicy: Never}}}}`

func TestAJobIsSubmittedIntoItsQueue(t *testing.T) {
	x := aHub(t)
	name := file(t, trainJob)
	if out := x.ok("submit -f " + name + " --queue train --priority urgent --prefer-clusters w2,w1"); out != "job.batch/train submitted\n" {
		t.Errorf("%q", out)
	}
	job := get(x, x.hub, "team", "train", &batchv1.Job{})
	if diff := cmp.Diff(map[string]string{kueue.QueueNameLabel: "train", kueue.PriorityClassLabel: "urgent"}, job.Labels); diff != "" {
		t.Error(diff)
	}
	if job.Annotations["switchyard.dev/prefer-clusters"] != "w2,w1" {
		t.Error(job.Annotations)
	}
	if out := x.ok("submit -f " + file(t, strings.ReplaceAll(trainJob, "train", "dry")) + " -q train --dry-run=client"); out != "job.batch/dry submitted (client dry run)\n" {
		t.Errorf("%q", out)
	}
	if !absent(x, x.hub, "team", "dry", &batchv1.Job{}) {
		t.Error("a dry run created a job")
	}
}

func TestAWrongSubmissionSaysWhatToChange(t *testing.T) {
	x := aHub(t)
	job := file(t, trainJob)
	x.fails("submit -f "+job, exit.Usage, "which queue?")
	x.fails("submit -f "+job+" -q nowhere", exit.NotFound, `has no LocalQueue "nowhere"; there is train`)
	x.fails("submit -f "+job+" -q train --wait=bogus", exit.Usage, "want finished or admitted")
	x.fails("submit -f "+file(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}}")+" -q train", exit.Usage, "Job.batch, JobSet.jobset.x-k8s.io")
	x.fails("submit -q train -n team -f "+file(t, strings.Replace(trainJob, "name: train", "name: train, namespace: other", 1)), exit.Usage, "the command line team")
	x.ok("submit -q train -f " + job)
	x.fails("submit -q train -f "+job, exit.Failed, "already exists")
}

// finishing makes every job that is created have a finished workload at once.
func finishing(x *terminal, reason string, objects ...client.Object) {
	x.hub = x.site("hub", interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			if err := c.Create(ctx, obj, options...); err != nil || obj.GetName() != "train" {
				return err
			}
			wl := aWorkload("job-train-1", "Job", "train")
			if err := c.Create(ctx, wl); err != nil {
				return err
			}
			wl.Status.Conditions = []metav1.Condition{condition(kueue.WorkloadFinished, "True", reason, "it ended", 0)}
			return c.Status().Update(ctx, wl)
		},
	}, objects...)
}

func TestASubmissionCanWaitForTheEnd(t *testing.T) {
	x := newTerminal(t)
	line := "submit -q train --wait -f " + file(t, trainJob)
	finishing(x, "Succeeded", aLocalQueue("team", "train", "gpus"))
	if out := x.ok(line); !strings.Contains(out, "job.batch/train: finished, Succeeded: it ended") {
		t.Error(out)
	}
	finishing(x, "Failed", aLocalQueue("team", "train", "gpus"))
	x.fails(line, exit.Failed, "1 of 1 jobs failed")
	x.hub = x.site("hub", interceptor.Funcs{}, aLocalQueue("team", "train", "gpus"))
	x.fails(line+" --timeout 10ms", exit.NotReady, "not finished after 10ms: job.batch/train: submitted")
}
