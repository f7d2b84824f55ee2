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

// parked is a view in which everybody has been turned away: ClusterQueues a and b of cohort tree, and c on its own, each with
// 4 gpus of red that a holder uses, its LocalQueue lq-a, lq-b or lq-c, and two workloads of different kinds: 2 gpus and 3.
func parked() *View { return parkedWith(Options{}) }

func parkedWith(o Options) *View {
	v := New(o)
	feedAll(v, testNamespace(map[string]string{"team": "x"}), testFlavor("red"), testFlavor("blue"), testCheck("ok", "example.com", true),
		&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "tree"}})
	for _, name := range []string{"a", "b", "c"} {
		feedAll(v, parkedQueue(name), testLocal("lq-"+name, name))
		feedAll(v, through(name, reserve(testWorkload("holder-"+name, 4, 1), name, "red")))
		for _, gpus := range []int32{2, 3} {
			feedAll(v, parkedWorkload(name, gpus, 1))
		}
	}
	runCycle(v, epoch)
	runCycle(v, epoch)
	return v
}

func parkedQueue(name string) *kueue.ClusterQueue {
	cq := testQueue(name, "4", "red")
	if name != "c" {
		cq.Spec.CohortName = "tree"
	}
	return cq
}

func through(queue string, wl *kueue.Workload) *kueue.Workload {
	wl.Spec.QueueName = kueue.LocalQueueName("lq-" + queue)
	return wl
}

// parkedWorkload is one of those that wait, in some version.
func parkedWorkload(queue string, gpus int32, version int) *kueue.Workload {
	return through(queue, testWorkload(queue+string('0'+gpus), gpus, version))
}

// awake settles what happened and names the ClusterQueues with somebody to look at, one time for each.
func awake(v *View, now time.Time) []string {
	var names []string
	v.Cycle(now, func(s *admission.Snapshot) admission.Plan {
		s.Settle(now)
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
	all  = []string{"a", "a", "b", "b", "c", "c"}
	tree = []string{"a", "a", "b", "b"}
)

// TestRequeueTriggers has the rows of contract kueue-api.md 4.10: what happens, and who is looked at again because of it.
func TestRequeueTriggers(t *testing.T) {
	holder := func(version int) *kueue.Workload {
		return through("a", reserve(testWorkload("holder-a", 4, version), "a", "red"))
	}
	event := func(o any) func(*View) { return func(v *View) { feedAll(v, o) } }
	gone := func(o any) func(*View) { return func(v *View) { unfeed(v, o) } }
	finished, pending, fewer, smaller := holder(2), holder(2), holder(2), holder(2)
	setCondition(&finished.Status.Conditions, kueue.WorkloadFinished, true, "Succeeded", epoch)
	pending.Status.Admission = nil
	setCondition(&pending.Status.Conditions, kueue.WorkloadQuotaReserved, false, "Pending", epoch)
	fewer.Status.ReclaimablePods = []kueue.ReclaimablePod{{Name: "main", Count: 3}}
	smaller.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("1")
	evicted, ready := holder(2), holder(2)
	setCondition(&evicted.Status.Conditions, kueue.WorkloadEvicted, true, "Preempted", epoch)
	setCondition(&ready.Status.Conditions, kueue.WorkloadPodsReady, true, "Started", epoch)
	asks := parkedWorkload("a", 2, 2)
	asks.Spec.PodSets[0].Count = 1
	urgent := parkedWorkload("a", 2, 2)
	urgent.Spec.Priority = ptr.To(int32(9))
	told := parkedWorkload("a", 2, 2)
	setCondition(&told.Status.Conditions, kueue.WorkloadQuotaReserved, false, "WaitingForQuota", epoch)
	larger, lonely := parkedQueue("c"), parkedQueue("a")
	larger.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("5")
	lonely.Spec.CohortName = ""
	labelled := testFlavor("red")
	labelled.Spec.NodeLabels = map[string]string{"gpu": "h100"}
	child := &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "tree"}, Spec: kueue.CohortSpec{ParentName: "root"}}
	status := parkedQueue("a")
	status.Status.PendingWorkloads = 7
	for name, tc := range map[string]struct {
		event func(*View)
		want  []string
	}{
		"workload deleted: the cohort tree":                {gone(holder(1)), tree},
		"workload finished: the cohort tree":               {event(finished), tree},
		"workload evicted and pending: the cohort tree":    {event(pending), append([]string{"a"}, tree...)},
		"reclaimable pods increase: the cohort tree":       {event(fewer), tree},
		"scale-down: the cohort tree":                      {event(smaller), tree},
		"workload evicted, still running: nobody":          {event(evicted), nil},
		"pods get ready: nobody":                           {event(ready), nil},
		"own spec changes: itself":                         {event(asks), []string{"a"}},
		"own priority changes: itself":                     {event(urgent), []string{"a"}},
		"own status says why it waits: nobody":             {event(told), nil},
		"ClusterQueue update: itself, as it has no cohort": {event(larger), []string{"c", "c"}},
		"ClusterQueue leaves its cohort: both trees":       {event(lonely), tree},
		"ClusterQueue status: nobody":                      {event(status), nil},
		"cohort update: the tree":                          {event(child), tree},
		"cohort deletion: the tree":                        {gone(child), tree},
		"flavor update: the queues that use it":            {event(labelled), all},
		"flavor that no queue uses: nobody":                {gone(testFlavor("blue")), nil},
		"check that no queue uses: nobody":                 {event(testCheck("ok", "example.com", false)), nil},
		"LocalQueue stopped: its workloads, to be told": {func(v *View) {
			lq := testLocal("lq-a", "a")
			lq.Spec.StopPolicy = kueue.Hold
			feedAll(v, lq)
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
		}), all},
		"RuntimeClass that nobody names: nobody": {event(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "vm"}}), nil},
		"nothing: nobody":                        {func(*View) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := parked()
			if got := awake(v, epoch); got != nil {
				t.Fatalf("%v are awake before anything happened", got)
			}
			tc.event(v)
			got := awake(v, epoch)
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tc.want))
			if !slices.Equal(got, want) {
				t.Errorf("awake are %v, want %v", got, want)
			}
		})
	}
}

// TestRequeueTriggersThatBringBack are the rows in which somebody could not be queued before.
func TestRequeueTriggersThatBringBack(t *testing.T) {
	stopped := testLocal("lq", "cq")
	stopped.Spec.StopPolicy = kueue.Hold
	held := testQueue("cq", "4", "red")
	held.Spec.StopPolicy = kueue.Hold
	picky := testQueue("cq", "4", "red")
	picky.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	checked := withChecks(testQueue("cq", "4", "red"), rule("c"))
	delayed := testWorkload("w", 3, 1)
	delayed.Status.RequeueState = &kueue.RequeueState{RequeueAt: ptr.To(metav1.NewTime(at(30)))}
	waits, requeued := testWorkload("w", 3, 1), testWorkload("w", 3, 2)
	setCondition(&waits.Status.Conditions, kueue.WorkloadRequeued, false, "PodsReadyTimeout", epoch)
	setCondition(&requeued.Status.Conditions, kueue.WorkloadRequeued, true, "BackoffFinished", epoch)
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
		"ClusterQueue creation":            {nil, change{unset: []any{held}}, change{set: []any{testQueue("cq", "4", "red")}}, epoch},
		"ClusterQueue activation":          {nil, change{set: []any{held}}, change{set: []any{testQueue("cq", "4", "red")}}, epoch},
		"flavor creation":                  {nil, change{unset: []any{testFlavor("red")}}, change{set: []any{testFlavor("red")}}, epoch},
		"check update":                     {nil, change{set: []any{checked, testCheck("c", "example.com", false)}}, change{set: []any{testCheck("c", "example.com", true)}}, epoch},
		"LocalQueue creation":              {nil, change{unset: []any{stopped}}, change{set: []any{testLocal("lq", "cq")}}, epoch},
		"LocalQueue stopPolicy":            {nil, change{set: []any{stopped}}, change{set: []any{testLocal("lq", "cq")}}, epoch},
		"namespace labels change":          {nil, change{set: []any{picky}}, change{set: []any{testNamespace(map[string]string{"team": "a"})}}, epoch},
		"LimitRange update":                {nil, change{set: []any{tight}}, change{set: []any{&corev1.LimitRange{ObjectMeta: tight.ObjectMeta}}}, epoch},
		"LimitRange deletion":              {nil, change{set: []any{tight}}, change{unset: []any{tight}}, epoch},
		"RuntimeClass update":              {inVM, change{set: []any{heavy}}, change{set: []any{light}}, epoch},
		"RuntimeClass deletion":            {inVM, change{set: []any{heavy}}, change{unset: []any{heavy}}, epoch},
		"backoff timer":                    {delayed, change{}, change{}, at(30)},
		"Requeued turns True":              {waits, change{}, change{set: []any{requeued}}, epoch},
		"the last admission gate goes":     {gated, change{}, change{set: []any{open}}, epoch},
		"the workload is active once more": {off, change{}, change{set: []any{open}}, epoch},
	} {
		t.Run(name, func(t *testing.T) {
			v := basic()
			do := func(c change) {
				feedAll(v, c.set...)
				for _, o := range c.unset {
					unfeed(v, o)
				}
			}
			do(tc.before)
			wl := tc.workload
			if wl == nil {
				wl = testWorkload("w", 3, 1)
			}
			feedAll(v, wl)
			if batch := runCycle(v, epoch); len(batch.Admit) != 0 {
				t.Fatalf("it is admitted before the trigger: %+v", batch)
			}
			do(tc.trigger)
			if batch := runCycle(v, tc.now); len(batch.Admit) != 1 {
				t.Errorf("it is not admitted after the trigger: %+v", batch)
			}
		})
	}
}
