package view

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// withRuntimeClass is the workload with a RuntimeClass for its pods; its spec has changed that often.
func withRuntimeClass(class string, generation int64, wl *kueue.Workload) *kueue.Workload {
	wl.Generation, wl.ResourceVersion = generation, fmt.Sprint(generation)
	if class != "" {
		wl.Spec.PodSets[0].Template.Spec.RuntimeClassName = &class
	}
	return wl
}

func TestARuntimeClassAffectsTheWorkloadsThatNameItNow(t *testing.T) {
	v := newBasicView()
	heavy := func(name string) *nodev1.RuntimeClass {
		return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Overhead: &nodev1.Overhead{
			PodFixed: corev1.ResourceList{"gpu": resource.MustParse("2")},
		}}
	}
	asks := func() int64 {
		w, waits := v.snap.Pending(keyOf("ns", "w"))
		if !waits {
			return -1
		}
		a, _ := w.PodSets[0].Requests.Lookup("gpu")
		return int64(a)
	}
	for _, step := range []struct {
		name  string
		event any
		want  int64
	}{
		{"before the class is known", withRuntimeClass("vm", 1, testWorkload("w", 1, 1)), 1},
		{"a class of others", heavy("other"), 1},
		{"its class", heavy("vm"), 3},
		{"another class, without overhead", withRuntimeClass("light", 2, testWorkload("w", 1, 1)), 1},
		{"that class gets overhead", heavy("light"), 3},
		{"no class", withRuntimeClass("", 3, testWorkload("w", 1, 1)), 1},
	} {
		setObjects(v, step.event)
		if got := asks(); got != step.want {
			t.Errorf("%s: asks for %d, want %d", step.name, got, step.want)
		}
	}
	setObjects(v, withRuntimeClass("vm", 4, testWorkload("w", 1, 1)))
	deleteObject(v, heavy("vm"))
	if got := asks(); got != 1 {
		t.Errorf("its class is gone: asks for %d", got)
	}
	deleteObject(v, testWorkload("w", 1, 1))
	if len(v.workloadsByRuntimeClass) != 0 {
		t.Errorf("a deleted workload is remembered: %v", v.workloadsByRuntimeClass)
	}
}
