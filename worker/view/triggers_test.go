package view

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// newInadmissibleView is a view in which all workloads are inadmissible: ClusterQueues a and b of cohort tree, and c on its
// own, each with 4 gpus of red that a holder uses, its LocalQueue lq-a, lq-b or lq-c, and two workloads of different classes:
// 2 gpus and 3.
func newInadmissibleView() *View { return newInadmissibleViewWith(Options{}) }

func newInadmissibleViewWith(o Options) *View {
	v := New(o)
	setObjects(v, testNamespace(map[string]string{"team": "x"}), testFlavor("red"), testFlavor("blue"), testCheck("ok", "example.com", true),
		&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "tree"}})
	for _, name := range []string{"a", "b", "c"} {
		setObjects(v, inadmissibleQueue(name), testLocalQueue("lq-"+name, name))
		setObjects(v, withLocalQueue(name, setReservation(testWorkload("holder-"+name, 4, 1), name, "red")))
		for _, gpus := range []int32{2, 3} {
			setObjects(v, inadmissibleWorkload(name, gpus, 1))
		}
	}
	runCycle(v, baseTime)
	runCycle(v, baseTime)
	return v
}

func inadmissibleQueue(name string) *kueue.ClusterQueue {
	cq := testQueue(name, "4", "red")
	if name != "c" {
		cq.Spec.CohortName = "tree"
	}
	return cq
}

func withLocalQueue(queue string, wl *kueue.Workload) *kueue.Workload {
	wl.Spec.QueueName = kueue.LocalQueueName("lq-" + queue)
	return wl
}

// inadmissibleWorkload is one of those that wait, in some version.
func inadmissibleWorkload(queue string, gpus int32, version int) *kueue.Workload {
	return withLocalQueue(queue, testWorkload(queue+string('0'+gpus), gpus, version))
}

// activeQueues settles what happened and names the ClusterQueues with workloads to look at, one time for each.
func activeQueues(v *View, now time.Time) []string {
	var names []string
	v.RunCycle(now, func(s *admission.Snapshot) admission.Plan {
		s.PrepareCycle(now)
		for _, queue := range []string{"a", "b", "c"} {
			for range s.QueueStatus(queue).Active {
				names = append(names, queue)
			}
		}
		return admission.Plan{}
	})
	return names
}

var (
	allQueues        = []string{"a", "a", "b", "b", "c", "c"}
	cohortTreeQueues = []string{"a", "a", "b", "b"}
)

// TestRequeueTriggers has the rows of contract kueue-api.md 4.10: what happens, and which workloads are requeued because of
// it.
func TestRequeueTriggers(t *testing.T) {
	holder := func(version int) *kueue.Workload {
		return withLocalQueue("a", setReservation(testWorkload("holder-a", 4, version), "a", "red"))
	}
	event := func(o any) func(*View) { return func(v *View) { setObjects(v, o) } }
	gone := func(o any) func(*View) { return func(v *View) { deleteObject(v, o) } }
	finished, pending, fewer, smaller := holder(2), holder(2), holder(2), holder(2)
	setCondition(&finished.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", baseTime)
	pending.Status.Admission = nil
	setCondition(&pending.Status.Conditions, kueue.WorkloadQuotaReserved, false, "Pending", baseTime)
	fewer.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 3}}
	smaller.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("1")
	evicted, ready := holder(2), holder(2)
	setCondition(&evicted.Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", baseTime)
	setCondition(&ready.Status.Conditions, kueue.WorkloadPodsReady, true, "Started", baseTime)
	asks := inadmissibleWorkload("a", 2, 2)
	asks.Spec.PodSets[0].Count = 1
	urgent := inadmissibleWorkload("a", 2, 2)
	urgent.Spec.Priority = ptr.To(int32(9))
	told := inadmissibleWorkload("a", 2, 2)
	setCondition(&told.Status.Conditions, kueue.WorkloadQuotaReserved, false, "WaitingForQuota", baseTime)
	larger, lonely := inadmissibleQueue("c"), inadmissibleQueue("a")
	larger.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("5")
	lonely.Spec.CohortName = ""
	labelled := testFlavor("red")
	labelled.Spec.NodeLabels = map[string]string{"gpu": "h100"}
	child := &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "tree"}, Spec: kueue.CohortSpec{ParentName: "root"}}
	status := inadmissibleQueue("a")
	status.Status.PendingWorkloads = 7
	for name, tc := range map[string]struct {
		event func(*View)
		want  []string
	}{
		"workload deleted: the cohort tree":                {gone(holder(1)), cohortTreeQueues},
		"workload finished: the cohort tree":               {event(finished), cohortTreeQueues},
		"workload evicted and pending: the cohort tree":    {event(pending), append([]string{"a"}, cohortTreeQueues...)},
		"reclaimable pods increase: the cohort tree":       {event(fewer), cohortTreeQueues},
		"scale-down: the cohort tree":                      {event(smaller), cohortTreeQueues},
		"workload evicted, still running: nobody":          {event(evicted), nil},
		"pods get ready: nobody":                           {event(ready), nil},
		"own spec changes: itself":                         {event(asks), []string{"a"}},
		"own priority changes: itself":                     {event(urgent), []string{"a"}},
		"own status says why it waits: nobody":             {event(told), nil},
		"ClusterQueue update: itself, as it has no cohort": {event(larger), []string{"c", "c"}},
		"ClusterQueue leaves its cohort: both trees":       {event(lonely), cohortTreeQueues},
		"ClusterQueue status: nobody":                      {event(status), nil},
		"cohort update: the tree":                          {event(child), cohortTreeQueues},
		"cohort deletion: the tree":                        {gone(child), cohortTreeQueues},
		"flavor update: the queues that use it":            {event(labelled), allQueues},
		"flavor that no queue uses: nobody":                {gone(testFlavor("blue")), nil},
		"check that no queue uses: nobody":                 {event(testCheck("ok", "example.com", false)), nil},
		"LocalQueue stopped: its workloads, to be told": {func(v *View) {
			lq := testLocalQueue("lq-a", "a")
			lq.Spec.StopPolicy = kueue.Hold
			setObjects(v, lq)
		}, []string{"a", "a"}},
		"namespace labels that no selector minds: nobody": {event(testNamespace(map[string]string{"team": "y"})), nil},
		"LimitRange that changes nothing: nobody":         {event(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lr"}}), nil},
		"LimitRange of another namespace: nobody": {event(&corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "lr"},
			Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
		}), nil},
		"LimitRange: the workloads of its namespace": {event(&corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lr"},
			Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
		}), allQueues},
		"RuntimeClass that nobody names: nobody": {event(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}), nil},
		"nothing: nobody":                        {func(*View) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newInadmissibleView()
			if got := activeQueues(v, baseTime); got != nil {
				t.Fatalf("%v are awake before anything happened", got)
			}
			tc.event(v)
			got := activeQueues(v, baseTime)
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tc.want))
			if !slices.Equal(got, want) {
				t.Errorf("awake are %v, want %v", got, want)
			}
		})
	}
}

// TestRequeueTriggersOfBlockedWorkloads are the rows in which a workload could not be queued before.
func TestRequeueTriggersOfBlockedWorkloads(t *testing.T) {
	stopped := testLocalQueue("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	held := testQueue("cq", "4", "red")
	held.Spec.StopPolicy = kueue.Hold
	picky := testQueue("cq", "4", "red")
	picky.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	checked := withChecks(testQueue("cq", "4", "red"), checkRule("c"))
	delayed := testWorkload("w", 3, 1)
	delayed.Status.RequeueState = &kueue.RequeueState{RequeueAt: ptr.To(metav1.NewTime(timeAt(30)))}
	waits, requeued := testWorkload("w", 3, 1), testWorkload("w", 3, 2)
	setCondition(&waits.Status.Conditions, kueue.WorkloadRequeued, false, "PodsReadyTimeout", baseTime)
	setCondition(&requeued.Status.Conditions, kueue.WorkloadRequeued, true, "BackoffFinished", baseTime)
	tight := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lr"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{"gpu": resource.MustParse("0")}}},
	}}
	heavy := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"gpu": resource.MustParse("9")}}}
	light := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}
	inVM := testWorkload("w", 3, 1)
	inVM.Spec.PodSets[0].Template.Spec.RuntimeClassName = ptr.To("vm")
	gated, open := testWorkload("w", 3, 1), testWorkload("w", 3, 2)
	gated.Annotations = map[string]string{kueue.AdmissionGatedByAnnotation: "example.com/gate"}
	off := testWorkload("w", 3, 1)
	off.Spec.Active = ptr.To(false)
	type change struct {
		set, unset []any
	}
	for name, tc := range map[string]struct {
		workload *kueue.Workload
		before   change
		trigger  change
		now      time.Time
	}{
		"ClusterQueue creation":            {nil, change{unset: []any{held}}, change{set: []any{testQueue("cq", "4", "red")}}, baseTime},
		"ClusterQueue activation":          {nil, change{set: []any{held}}, change{set: []any{testQueue("cq", "4", "red")}}, baseTime},
		"flavor creation":                  {nil, change{unset: []any{testFlavor("red")}}, change{set: []any{testFlavor("red")}}, baseTime},
		"check update":                     {nil, change{set: []any{checked, testCheck("c", "example.com", false)}}, change{set: []any{testCheck("c", "example.com", true)}}, baseTime},
		"LocalQueue creation":              {nil, change{unset: []any{stopped}}, change{set: []any{testLocalQueue("lq", "cq")}}, baseTime},
		"LocalQueue stopPolicy":            {nil, change{set: []any{stopped}}, change{set: []any{testLocalQueue("lq", "cq")}}, baseTime},
		"namespace labels change":          {nil, change{set: []any{picky}}, change{set: []any{testNamespace(map[string]string{"team": "a"})}}, baseTime},
		"LimitRange update":                {nil, change{set: []any{tight}}, change{set: []any{&corev1.LimitRange{ObjectMeta: tight.ObjectMeta}}}, baseTime},
		"LimitRange deletion":              {nil, change{set: []any{tight}}, change{unset: []any{tight}}, baseTime},
		"RuntimeClass update":              {inVM, change{set: []any{heavy}}, change{set: []any{light}}, baseTime},
		"RuntimeClass deletion":            {inVM, change{set: []any{heavy}}, change{unset: []any{heavy}}, baseTime},
		"backoff timer":                    {delayed, change{}, change{}, timeAt(30)},
		"Requeued turns True":              {waits, change{}, change{set: []any{requeued}}, baseTime},
		"the last admission gate goes":     {gated, change{}, change{set: []any{open}}, baseTime},
		"the workload is active once more": {off, change{}, change{set: []any{open}}, baseTime},
	} {
		t.Run(name, func(t *testing.T) {
			v := newBasicView()
			do := func(c change) {
				setObjects(v, c.set...)
				for _, o := range c.unset {
					deleteObject(v, o)
				}
			}
			do(tc.before)
			wl := tc.workload
			if wl == nil {
				wl = testWorkload("w", 3, 1)
			}
			setObjects(v, wl)
			if batch := runCycle(v, baseTime); len(batch.Admit) != 0 {
				t.Fatalf("it is admitted before the trigger: %+v", batch)
			}
			do(tc.trigger)
			if batch := runCycle(v, tc.now); len(batch.Admit) != 1 {
				t.Errorf("it is not admitted after the trigger: %+v", batch)
			}
		})
	}
}
