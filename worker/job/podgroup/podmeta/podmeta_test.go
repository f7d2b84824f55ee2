package podmeta

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

func pod(labels, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}
}

func TestWhereAPodNamesItsGroup(t *testing.T) {
	long := strings.Repeat("g", 64)
	named := func(name string) map[string]string { return map[string]string{kueue.PodGroupNameKey: name} }
	on, off := job.Gates{WorkloadIdentifierAnnotations: true}, job.Gates{}
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		gates   job.Gates
		want    string
		inLabel bool
	}{
		"nowhere":                        {pod(nil, nil), on, "", true},
		"in a label":                     {pod(named("l"), nil), on, "l", true},
		"in an annotation":               {pod(nil, named("a")), on, "a", false},
		"in both, the annotation counts": {pod(named("l"), named("a")), on, "a", false},
		"in both, but the label counts with the gate off": {pod(named("l"), named("a")), off, "l", true},
		"in an annotation that is not read":               {pod(nil, named("a")), off, "", true},
		"in an annotation because no label could hold it": {pod(nil, named(long)), off, long, false},
		"in a label before such an annotation":            {pod(named("l"), named(long)), off, "l", true},
	} {
		if got := GroupName(c.pod, c.gates); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := IsGroupInLabel(c.pod, c.gates); got != c.inLabel {
			t.Errorf("%s: in a label %v", name, got)
		}
	}
}

func TestTheTotalCountIsAPositiveNumber(t *testing.T) {
	for text, want := range map[string]struct {
		count int
		err   string
	}{
		"3":                    {3, ""},
		"2147483647":           {2147483647, ""},
		"2147483648":           {0, `strconv.Atoi: parsing "2147483648": value out of range`},
		"99999999999999999999": {0, `strconv.Atoi: parsing "99999999999999999999": value out of range`},
		"":                     {0, `strconv.Atoi: parsing "": invalid syntax`},
		"0":                    {0, "incorrect annotation value 'kueue.x-k8s.io/pod-group-total-count=0': group total count should be greater than zero"},
		"-1":                   {0, "incorrect annotation value 'kueue.x-k8s.io/pod-group-total-count=-1': group total count should be greater than zero"},
	} {
		count, err := TotalCount(pod(nil, map[string]string{kueue.PodGroupTotalCountAnnotation: text}))
		if count != want.count || (err == nil) != (want.err == "") || err != nil && err.Error() != want.err {
			t.Errorf("%q: %d, %v", text, count, err)
		}
	}
}

func TestTheIndexIsANumber(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "7": 7, "-1": -1, "x": -1, "": -1, "4294967296": -1} {
		if got := Index(pod(map[string]string{kueue.PodGroupPodIndexLabel: text}, nil)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := Index(pod(nil, nil)); got != -1 {
		t.Errorf("without a label: %d", got)
	}
}

func TestGatesAreAddedOnceAndRemovedAlone(t *testing.T) {
	p := pod(nil, nil)
	for range 2 {
		AddGate(p, kueue.AdmissionSchedulingGate)
		AddGate(p, "example.com/other")
	}
	if len(p.Spec.SchedulingGates) != 2 || !IsGated(p) || !IsSuspended(p) {
		t.Errorf("gates are %v", p.Spec.SchedulingGates)
	}
	before := p.Spec.SchedulingGates
	RemoveGate(p, kueue.AdmissionSchedulingGate)
	if len(p.Spec.SchedulingGates) != 1 || IsGated(p) || len(before) != 2 || before[0].Name != kueue.AdmissionSchedulingGate {
		t.Errorf("gates are %v, were %v", p.Spec.SchedulingGates, before)
	}
	p.Status.Phase = corev1.PodFailed
	if !IsSuspended(p) {
		t.Error("a pod that has ended runs")
	}
}

func TestWhichPodsAreServed(t *testing.T) {
	parent := pod(nil, map[string]string{kueue.PodSuspendingParentAnnotation: "deployment"})
	nameless := pod(nil, map[string]string{kueue.PodSuspendingParentAnnotation: ""})
	all, others := &job.Options{}, &job.Options{PodsOfOthersOnly: true}
	if !IsServed(pod(nil, nil), all) || IsServed(pod(nil, nil), others) || !IsServed(parent, others) || IsServed(nameless, others) {
		t.Error("a pod without a parent is served only where pods are named; the name of a parent must not be empty")
	}
}
