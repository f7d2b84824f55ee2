package view

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
)

// asking is a workload with one pod that requests so many gpus.
func asking(name, gpus string) *kueue.Workload {
	wl := testWorkload(name, 1, 1)
	wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests["gpu"] = resource.MustParse(gpus)
	return wl
}

// fate runs a cycle and says what it decided about the workload.
func fate(v *View, name string) string {
	batch := runCycle(v, epoch)
	for _, d := range batch.Admit {
		if d.Workload.Name == name {
			return "admitted"
		}
	}
	for _, d := range batch.Wait {
		if d.Workload.Name == name {
			return string(d.Because) + ": " + d.Message
		}
	}
	return "nothing"
}

func expectFate(t *testing.T, v *View, name, want string) {
	t.Helper()
	if got := fate(v, name); !strings.HasPrefix(got, want) {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// gpus is what the holders of cq reserve.
func gpus(v *View) int64 {
	standing, _ := v.ClusterQueue("cq")
	sum := int64(0)
	for _, s := range standing.Reserved {
		sum += int64(s.Total)
	}
	return sum
}

func TestANegativeRequestIsTheUsersMistake(t *testing.T) {
	v := basic()
	feedAll(v, asking("w", "-5"))
	expectFate(t, v, "w", `Misconfigured: resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: ["gpu"]: requests must be greater than or equal to 0`)
}

func TestANegativeReservationMakesNoRoom(t *testing.T) {
	v := basic()
	holder := reserve(testWorkload("h", 1, 1), "cq", "red")
	holder.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("-5")
	feedAll(v, holder, asking("w", "5"))
	expectFate(t, v, "w", "ExceedsMaxQuota")
	if got := gpus(v); got != 0 {
		t.Errorf("%d gpus are reserved, want 0", got)
	}
}

func TestANegativeQuotaAdmitsNothing(t *testing.T) {
	v := basic()
	feedAll(v, testQueue("cq", "-4", "red"), asking("w", "1"))
	expectFate(t, v, "w", "ExceedsMaxQuota")
	feedAll(v, testQueue("cq", "4", "red"))
	expectFate(t, v, "w", "admitted")
}

func TestAbsurdQuantitiesSaturateAndAreGivenBackExactly(t *testing.T) {
	v := basic()
	feedAll(v, asking("w", "9E"))
	expectFate(t, v, "w", "ExceedsMaxQuota")
	var holders []*kueue.Workload
	for _, name := range []string{"h1", "h2", "h3"} {
		holder := reserve(testWorkload(name, 1, 1), "cq", "red")
		holder.Status.Admission.PodSetAssignments[0].ResourceUsage["gpu"] = resource.MustParse("9E")
		holders = append(holders, holder)
		feedAll(v, holder)
	}
	feedAll(v, asking("x", "1"))
	expectFate(t, v, "x", "WaitingForQuota")
	for _, holder := range holders {
		unfeed(v, holder)
	}
	expectFate(t, v, "x", "admitted")
	v = basic()
	feedAll(v, testQueue("cq", "9E", "red"), asking("w", "8E"))
	expectFate(t, v, "w", "admitted")
}

func TestAClusterQueueThatIsDeletedUnderLoadAndComesBack(t *testing.T) {
	v := basic()
	feedAll(v, reserve(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 2, 1))
	expectFate(t, v, "w", "WaitingForQuota")
	unfeed(v, testQueue("cq", "4", "red"))
	expectFate(t, v, "w", "Misconfigured: ClusterQueue cq doesn't exist")
	feedAll(v, testQueue("cq", "4", "red"))
	if got := gpus(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	expectFate(t, v, "w", "WaitingForQuota")
	unfeed(v, testWorkload("h", 3, 1))
	expectFate(t, v, "w", "admitted")
}

func TestAClusterQueueThatIsBeingDeletedTakesNothingNew(t *testing.T) {
	v := basic()
	ending := testQueue("cq", "4", "red")
	ending.DeletionTimestamp = &metav1.Time{Time: epoch}
	feedAll(v, reserve(testWorkload("h", 3, 1), "cq", "red"), ending, testWorkload("w", 1, 1))
	expectFate(t, v, "w", "Suspended")
	if got := gpus(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
}

func TestALocalQueueThatIsDeletedUnderLoadAndComesBack(t *testing.T) {
	v := basic()
	feedAll(v, reserve(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 1, 1))
	unfeed(v, testLocal("lq", "cq"))
	expectFate(t, v, "w", "Misconfigured: LocalQueue lq doesn't exist")
	if got := gpus(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	feedAll(v, testLocal("lq", "cq"))
	expectFate(t, v, "w", "admitted")
}

func TestAFlavorThatChangesWhileItIsInUse(t *testing.T) {
	v := basic()
	picky := testWorkload("w", 1, 1)
	picky.Spec.PodSets[0].Template.Spec.NodeSelector = map[string]string{"gpu": "h100"}
	labelled := func(gpu string) *kueue.ResourceFlavor {
		f := testFlavor("red")
		f.Spec.NodeLabels = map[string]string{"gpu": gpu}
		return f
	}
	feedAll(v, labelled("a100"), reserve(testWorkload("h", 3, 1), "cq", "red"), picky)
	expectFate(t, v, "w", "NoMatchingFlavor")
	unfeed(v, testFlavor("red"))
	expectFate(t, v, "w", "Suspended")
	feedAll(v, labelled("h100"))
	if got := gpus(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	expectFate(t, v, "w", "admitted")
}

func TestAQueueThatDropsAFlavorKeepsItsReservations(t *testing.T) {
	v := basic()
	feedAll(v, testFlavor("blue"), reserve(testWorkload("h", 3, 1), "cq", "red"), testWorkload("w", 2, 1))
	expectFate(t, v, "w", "WaitingForQuota")
	feedAll(v, testQueue("cq", "4", "blue"))
	expectFate(t, v, "w", "admitted")
	feedAll(v, testQueue("cq", "4", "red", "blue"))
	if got := gpus(v); got != 5 {
		t.Errorf("%d gpus are reserved, want 3 of red and 2 of blue", got)
	}
}

func TestOnlyAQuotaThatShrinksIsExceeded(t *testing.T) {
	v := basic()
	feedAll(v, reserve(testWorkload("h1", 2, 1), "cq", "red"), reserve(testWorkload("h2", 2, 1), "cq", "red"), testWorkload("w", 1, 1))
	feedAll(v, testQueue("cq", "2", "red"))
	expectFate(t, v, "w", "WaitingForQuota")
	if got := gpus(v); got != 4 {
		t.Errorf("%d gpus are reserved, want 4: nobody is evicted for a smaller quota", got)
	}
	unfeed(v, testWorkload("h1", 2, 1))
	if got := fate(v, "w"); got == "admitted" {
		t.Error("it is admitted although everything is taken")
	}
	unfeed(v, testWorkload("h2", 2, 1))
	expectFate(t, v, "w", "admitted")
}

func TestACycleOfCohortsUnderLoad(t *testing.T) {
	v := basic()
	cq := testQueue("cq", "4", "red")
	cq.Spec.CohortName = "a"
	cohort := func(parent string) *kueue.Cohort {
		return &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: kueue.CohortSpec{ParentName: kueue.CohortReference(parent)}}
	}
	feedAll(v, cq, reserve(testWorkload("h", 3, 1), "cq", "red"), cohort("a"), testWorkload("w", 1, 1))
	expectFate(t, v, "w", "Suspended: ClusterQueue cq is inactive: the parents of cohort a form a cycle")
	if got := gpus(v); got != 3 {
		t.Errorf("%d gpus are reserved, want the holder's 3", got)
	}
	feedAll(v, cohort(""))
	expectFate(t, v, "w", "admitted")
}

func TestAWorkloadThatMovesToAnotherQueueLeavesNothingBehind(t *testing.T) {
	v := basic()
	feedAll(v, testQueue("cq2", "4", "red"), testLocal("lq2", "cq2"), testWorkload("w", 9, 1))
	expectFate(t, v, "w", "ExceedsMaxQuota")
	moved := testWorkload("w", 3, 2)
	moved.Spec.QueueName = "lq2"
	feedAll(v, moved)
	if n := len(v.byLocal[keyOf("ns", "lq")]); n != 0 || len(v.snap.Waiting("cq")) != 0 {
		t.Errorf("%d are left in lq, %v in cq", n, v.snap.Waiting("cq"))
	}
	expectFate(t, v, "w", "admitted")
	if held, _ := v.snap.Holding(admission.Key{Namespace: "ns", Name: "w"}); held.Queue != "cq2" {
		t.Errorf("it holds quota of %s", held.Queue)
	}
}
