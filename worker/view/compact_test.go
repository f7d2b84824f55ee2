package view

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestCompactedWorkloadsAreEqual(t *testing.T) {
	transform := CompactTransform()
	versions := func() []*kueue.Workload {
		plain, other, fewer, reserved := testWorkload("a", 2, 1), testWorkload("b", 2, 1), testWorkload("c", 2, 1), setReservation(testWorkload("d", 2, 1), "cq", "red")
		other.Spec.PodSets[0].Template.Spec.Containers[0].Image = "busybox"
		fewer.Spec.PodSets[0].MinCount = ptr.To(int32(1))
		blue, partial := setReservation(testWorkload("e", 2, 1), "cq", "blue"), setReservation(testWorkload("f", 2, 1), "cq", "red")
		partial.Status.Admission.PodSetAssignments[0].Count = ptr.To(int32(1))
		topology := testWorkload("g", 2, 1)
		topology.Spec.PodSets[0].TopologyRequest = &kueue.PodSetTopologyRequest{Required: ptr.To("rack")}
		plain.Status.ResourceRequests = BuildPodSetRequests(podSetsOf(plain))
		return []*kueue.Workload{plain, other, fewer, reserved, blue, partial, topology, {}}
	}
	for range 2 {
		for i, wl := range versions() {
			wl.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
			got, err := transform(wl)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(versions()[i], got); diff != "" {
				t.Errorf("the transform changed %s: %s", wl.Name, diff)
			}
		}
	}
	a, b := testWorkload("x", 2, 1), setReservation(testWorkload("y", 2, 1), "cq", "red")
	for _, wl := range []*kueue.Workload{a, b} {
		if _, err := transform(wl); err != nil {
			t.Fatal(err)
		}
	}
	if &a.Spec.PodSets[0] != &b.Spec.PodSets[0] {
		t.Error("equal pod sets are not shared")
	}
	if other, err := transform("a tombstone"); other != "a tombstone" || err != nil {
		t.Errorf("what is no Workload comes back as %v, %v", other, err)
	}
}

// BenchmarkCachedWorkload is what an admitted workload weighs in the informers' store, as it comes and as it is kept.
func BenchmarkCachedWorkload(b *testing.B) {
	wl := setAdmitted(setReservation(testWorkload("w", 4, 1), "cq", "red"))
	text, err := json.Marshal(wl)
	if err != nil {
		b.Fatal(err)
	}
	for _, slim := range []bool{false, true} {
		b.Run(fmt.Sprintf("slim=%v", slim), func(b *testing.B) {
			transform := CompactTransform()
			kept := make([]*kueue.Workload, b.N)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range kept {
				kept[i] = &kueue.Workload{}
				if err := json.Unmarshal(text, kept[i]); err != nil {
					b.Fatal(err)
				}
				if slim {
					if _, err := transform(kept[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(b.N), "B/workload")
			runtime.KeepAlive(kept)
		})
	}
}
