package view

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// newRequestingWorkload is a workload with one pod that requests so many gpus.
func newRequestingWorkload(name, gpus string) *kueue.Workload {
	wl := testWorkload(name, 1, 1)
	wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests["gpu"] = resource.MustParse(gpus)
	return wl
}

// runAndDescribe runs a cycle and says what it decided about the workload.
func runAndDescribe(v *View, name string) string {
	batch := runCycle(v, baseTime)
	for _, d := range batch.Admit {
		if d.Workload.Name == name {
			return "admitted"
		}
	}
	for _, d := range batch.Wait {
		if d.Workload.Name == name {
			return string(d.Reason) + ": " + d.Message
		}
	}
	return "nothing"
}

func expectOutcome(t *testing.T, v *View, name, want string) {
	t.Helper()
	if got := runAndDescribe(v, name); !strings.HasPrefix(got, want) {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// reservedGPUs is what the holders of cq reserve.
func reservedGPUs(v *View) int64 {
	standing, _ := v.ClusterQueueStatus("cq")
	sum := int64(0)
	for _, s := range standing.Reserved {
		sum += int64(s.Total)
	}
	return sum
}

func TestANegativeRequestIsTheUsersMistake(t *testing.T) {
	v := newBasicView()
	setObjects(v, newRequestingWorkload("w", "-5"))
	expectOutcome(t, v, "w", `Misconfigured: resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: ["gpu"]: requests must be greater than or equal to 0`)
}

func TestANegativeReservationFreesNoQuota(t *testing.T) {
	v := newBasicView()
	holder := setReservation(testWorkload("h", 1, 1), "cq", "red")
	holder.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("-5")
	setObjects(v, holder, newRequestingWorkload("w", "5"))
	expectOutcome(t, v, "w", "ExceedsMaxQuota")
	if got := reservedGPUs(v); got != 0 {
		t.Errorf("%d gpus are reserved, want 0", got)
	}
}

func TestANegativeQuotaAdmitsNothing(t *testing.T) {
	v := newBasicView()
	setObjects(v, testQueue("cq", "-4", "red"), newRequestingWorkload("w", "1"))
	expectOutcome(t, v, "w", "ExceedsMaxQuota")
	setObjects(v, testQueue("cq", "4", "red"))
	expectOutcome(t, v, "w", "admitted")
}

func TestAbsurdQuantitiesSaturateAndAreGivenBackExactly(t *testing.T) {
	v := newBasicView()
	setObjects(v, newRequestingWorkload("w", "9E"))
	expectOutcome(t, v, "w", "ExceedsMaxQuota")
	var holders []*kueue.Workload
	for _, name := range []string{"h1", "h2", "h3"} {
		holder := setReservation(testWorkload(name, 1, 1), "cq", "red")
		holder.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("9E")
		holders = append(holders, holder)
		setObjects(v, holder)
	}
	setObjects(v, newRequestingWorkload("x", "1"))
	expectOutcome(t, v, "x", "WaitingForQuota")
	for _, holder := range holders {
		deleteObject(v, holder)
	}
	expectOutcome(t, v, "x", "admitted")
	v = newBasicView()
	setObjects(v, testQueue("cq", "9E", "red"), newRequestingWorkload("w", "8E"))
	expectOutcome(t, v, "w", "admitted")
}

func TestAClusterQueueThatIsDeletedUnderLoadAndComesBack(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 2, 1))
	expectOutcome(t, v, "w", "WaitingForQuota")
	deleteObject(v, testQueue("cq", "4", "red"))
	expectOutcome(t, v, "w", "Misconfigured: ClusterQueue cq doesn't exist")
	setObjects(v, testQueue("cq", "4", "red"))
	if got := reservedGPUs(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	expectOutcome(t, v, "w", "WaitingForQuota")
	deleteObject(v, testWorkload("h", 3, 1))
	expectOutcome(t, v, "w", "admitted")
}

func TestAClusterQueueThatIsBeingDeletedTakesNothingNew(t *testing.T) {
	v := newBasicView()
	ending := testQueue("cq", "4", "red")
	ending.DeletionTimestamp = &metav1.Time{Time: baseTime}
	setObjects(v, setReservation(testWorkload("h", 3, 1), "cq", "red"), ending, testWorkload("w", 1, 1))
	expectOutcome(t, v, "w", "Suspended")
	if got := reservedGPUs(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
}

func TestALocalQueueThatIsDeletedUnderLoadAndComesBack(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 1, 1))
	deleteObject(v, testLocalQueue("lq", "cq"))
	expectOutcome(t, v, "w", "Misconfigured: LocalQueue lq doesn't exist")
	if got := reservedGPUs(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	setObjects(v, testLocalQueue("lq", "cq"))
	expectOutcome(t, v, "w", "admitted")
}

func TestAFlavorThatChangesWhileItIsInUse(t *testing.T) {
	v := newBasicView()
	picky := testWorkload("w", 1, 1)
	picky.Spec.PodSets[0].Template.Spec.NodeSelector = map[string]string{"gpu": "h100"}
	labelled := func(gpu string) *kueue.ResourceFlavor {
		f := testFlavor("red")
		f.Spec.NodeLabels = map[string]string{"gpu": gpu}
		return f
	}
	setObjects(v, labelled("a100"), setReservation(testWorkload("h", 3, 1), "cq", "red"), picky)
	expectOutcome(t, v, "w", "NoMatchingFlavor")
	deleteObject(v, testFlavor("red"))
	expectOutcome(t, v, "w", "Suspended")
	setObjects(v, labelled("h100"))
	if got := reservedGPUs(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	expectOutcome(t, v, "w", "admitted")
}

func TestAQueueThatDropsAFlavorKeepsItsReservations(t *testing.T) {
	v := newBasicView()
	setObjects(v, testFlavor("blue"), setReservation(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 2, 1))
	expectOutcome(t, v, "w", "WaitingForQuota")
	setObjects(v, testQueue("cq", "4", "blue"))
	expectOutcome(t, v, "w", "admitted")
	setObjects(v, testQueue("cq", "4", "red", "blue"))
	if got := reservedGPUs(v); got != 5 {
		t.Errorf("%d gpus are reserved, want 3 of red and 2 of blue", got)
	}
}

func TestOnlyAQuotaThatShrinksIsExceeded(t *testing.T) {
	v := newBasicView()
	setObjects(v, setReservation(testWorkload("h1", 2, 1), "cq", "red"), setReservation(testWorkload("h2", 2, 1), "cq", "red"), testWorkload("w", 1, 1))
	setObjects(v, testQueue("cq", "2", "red"))
	expectOutcome(t, v, "w", "WaitingForQuota")
	if got := reservedGPUs(v); got != 4 {
		t.Errorf("%d gpus are reserved, want 4: nobody is evicted for a smaller quota", got)
	}
	deleteObject(v, testWorkload("h1", 2, 1))
	if got := runAndDescribe(v, "w"); got == "admitted" {
		t.Error("it is admitted although everything is taken")
	}
	deleteObject(v, testWorkload("h2", 2, 1))
	expectOutcome(t, v, "w", "admitted")
}

func TestACycleOfCohortsUnderLoad(t *testing.T) {
	v := newBasicView()
	cq := testQueue("cq", "4", "red")
	cq.Spec.CohortName = "a"
	cohort := func(parent string) *kueue.Cohort {
		return &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: kueue.CohortSpec{ParentName: kueue.CohortReference(parent)}}
	}
	setObjects(v, cq, setReservation(testWorkload("h", 3, 1), "cq", "red"), cohort("a"), testWorkload("w", 1, 1))
	expectOutcome(t, v, "w", "Suspended: ClusterQueue cq is inactive: the parents of cohort a form a cycle")
	if got := reservedGPUs(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	setObjects(v, cohort(""))
	expectOutcome(t, v, "w", "admitted")
}

func TestAWorkloadThatMovesToAnotherQueueLeavesNothingBehind(t *testing.T) {
	v := newBasicView()
	setObjects(v, testQueue("cq2", "4", "red"), testLocalQueue("lq2", "cq2"), testWorkload("w", 9, 1))
	expectOutcome(t, v, "w", "ExceedsMaxQuota")
	moved := testWorkload("w", 3, 2)
	moved.Spec.QueueName = "lq2"
	setObjects(v, moved)
	if n := len(v.workloadsByLocalQueue[keyOf("ns", "lq")]); n != 0 || len(v.snap.ListPending("cq")) != 0 {
		t.Errorf("%d are left in lq, %v in cq", n, v.snap.ListPending("cq"))
	}
	expectOutcome(t, v, "w", "admitted")
	if held, _ := v.snap.Reservation(admission.Key{Namespace: "ns", Name: "w"}); held.Queue != "cq2" {
		t.Errorf("it holds quota of %s", held.Queue)
	}
}
