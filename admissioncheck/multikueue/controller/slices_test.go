package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/workload"
)

// sliceOf is a slice of an elastic job, made at the n-th second, that replaces another if one is named; the words say what has become of it.
func sliceOf(name, replaces string, n int, words ...string) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(int64(n), 0),
		Annotations:     map[string]string{kueue.ElasticJobAnnotation: "true", kueue.WorkloadSliceNameAnnotation: "a"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: ptr.To(true)}},
	}}
	if replaces != "" {
		wl.Annotations[kueue.WorkloadSliceReplacementForAnnotation] = "team/" + replaces
	}
	for _, word := range words {
		switch word {
		case "quota":
			workload.ReserveQuota(wl, &kueue.Admission{ClusterQueue: "cq"}, nil, "", time.Unix(0, 0))
		case "bound":
			wl.Status.ClusterName = ptr.To("w1")
		case "replaced":
			workload.Finish(wl, kueue.ReasonWorkloadSliceReplaced, "", time.Unix(0, 0))
		case "outofsync":
			workload.Finish(wl, kueue.ReasonOutOfSync, "", time.Unix(0, 0))
		case "succeeded":
			workload.Finish(wl, kueue.ReasonSucceeded, "", time.Unix(0, 0))
		}
	}
	return wl
}

func TestOneSliceHasTheJob(t *testing.T) {
	a, b, c := func(words ...string) *kueue.Workload { return sliceOf("a", "", 1, words...) },
		func(words ...string) *kueue.Workload { return sliceOf("b", "a", 2, words...) },
		func(words ...string) *kueue.Workload { return sliceOf("c", "b", 3, words...) }
	for _, row := range []struct {
		name   string
		slices []*kueue.Workload
		has    string
	}{
		{"the only one, without quota", []*kueue.Workload{a()}, "a"},
		{"the first, while the next waits for quota", []*kueue.Workload{a("quota", "bound"), b()}, "a"},
		{"the next, from its quota on", []*kueue.Workload{a("quota", "bound"), b("quota", "bound")}, "b"},
		{"the next, when the first has been finished for that", []*kueue.Workload{a("quota", "bound", "replaced"), b("quota", "bound")}, "b"},
		{"the last of three", []*kueue.Workload{a("quota", "bound", "replaced"), b("quota", "bound", "replaced"), c("quota", "bound")}, "c"},
		{"the second of three", []*kueue.Workload{a("quota", "bound", "replaced"), b("quota", "bound"), c()}, "b"},
		{"the first, which was evicted and may run", []*kueue.Workload{a("bound"), b()}, "a"},
		{"the next, which was evicted and may run", []*kueue.Workload{a("quota", "bound", "replaced"), b("bound")}, "b"},
		{"the next, when nothing is left of the first", []*kueue.Workload{a("quota", "bound", "replaced"), b()}, "b"},
		{"the first, when the next was given up before it had quota", []*kueue.Workload{a("quota", "bound"), b("outofsync")}, "a"},
		{"the one that has ended with its job, and not the next, which is about to", []*kueue.Workload{a("quota", "bound", "succeeded"), b()}, "a"},
		{"the one that has ended with its job, and not the next, which has, too", []*kueue.Workload{a("quota", "bound", "succeeded"), b("succeeded")}, "a"},
		{"the one that has succeeded", []*kueue.Workload{a("quota", "bound", "replaced"), b("quota", "bound", "succeeded")}, "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			has := ""
			for i, wl := range row.slices {
				others := append(append([]*kueue.Workload{}, row.slices[:i]...), row.slices[i+1:]...)
				if !hubworkload.IsPassive(wl, others) {
					has += wl.Name
				}
			}
			if has != row.has {
				t.Errorf("the job is that of %q, want %q", has, row.has)
			}
		})
	}
}

func TestSlicesOfAnotherJobHaveNoSay(t *testing.T) {
	st := newTestEnv(t, "w1")
	st.stop() // nobody else is to look at what follows
	wl := sliceOf("a", "", 1)
	st.create(wl)
	st.create(sliceOf("b", "a", 2))
	for name, change := range map[string]func(*kueue.Workload){
		"of-another-job":   func(wl *kueue.Workload) { wl.OwnerReferences[0].UID = "other" },
		"of-another-chain": func(wl *kueue.Workload) { wl.Annotations[kueue.WorkloadSliceNameAnnotation] = "other" },
		"rigid":            func(wl *kueue.Workload) { delete(wl.Annotations, kueue.ElasticJobAnnotation) },
		"of-nobody":        func(wl *kueue.Workload) { wl.OwnerReferences = nil },
	} {
		other := sliceOf(name, "a", 3)
		change(other)
		st.create(other)
	}
	others, err := listSlices(t.Context(), st.reconciler.Client, wl)
	if err != nil || len(others) != 1 || others[0].Name != "b" {
		t.Errorf("%v; the other slices are %v", err, others)
	}
	if keys := hubworkload.EarlierSlices(sliceOf("c", "b", 3), []*kueue.Workload{wl, others[0]}); len(keys) != 2 || keys[0].Name != "b" || keys[1].Name != "a" {
		t.Errorf("the slices before are %v", keys)
	}
}
