package resourcequota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/resourcequota/quotafit"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/podrequests"
)

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func container(requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func TestAPodUsesWhatAResourceQuotaCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		spec corev1.PodSpec
		want amount.Vector
	}{
		{
			"requests and limits under all their names",
			corev1.PodSpec{Containers: []corev1.Container{container(quantities("cpu", "500m", "memory", "1Gi"), quantities("cpu", "2"))}},
			toVector(quantities("pods", "1", "count/pods", "1", "cpu", "500m", "requests.cpu", "500m", "limits.cpu", "2",
				"memory", "1Gi", "requests.memory", "1Gi")),
		},
		{
			"devices under requests only, and a limit stands for their request",
			corev1.PodSpec{Containers: []corev1.Container{container(nil, quantities("nvidia.com/gpu", "8"))}},
			toVector(quantities("pods", "1", "count/pods", "1", "requests.nvidia.com/gpu", "8")),
		},
		{
			"huge pages and local storage",
			corev1.PodSpec{Containers: []corev1.Container{container(nil, quantities("hugepages-2Mi", "4Mi", "ephemeral-storage", "1Gi"))}},
			toVector(quantities("pods", "1", "count/pods", "1", "hugepages-2Mi", "4Mi", "requests.hugepages-2Mi", "4Mi",
				"ephemeral-storage", "1Gi", "requests.ephemeral-storage", "1Gi", "limits.ephemeral-storage", "1Gi")),
		},
		{
			"the larger of init containers and the others, with overhead",
			corev1.PodSpec{
				InitContainers: []corev1.Container{container(quantities("cpu", "3"), nil)},
				Containers:     []corev1.Container{container(quantities("cpu", "1"), nil), container(quantities("cpu", "1"), nil)},
				Overhead:       quantities("cpu", "250m"),
			},
			toVector(quantities("pods", "1", "count/pods", "1", "cpu", "3250m", "requests.cpu", "3250m")),
		},
		{
			"resources of the pod as a whole",
			corev1.PodSpec{
				Containers: []corev1.Container{container(nil, nil)},
				Resources:  &corev1.ResourceRequirements{Requests: quantities("cpu", "4")},
			},
			toVector(quantities("pods", "1", "count/pods", "1", "cpu", "4", "requests.cpu", "4")),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, describePods(&c.spec, 1, podrequests.Context{}).Each); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAmountsUnderAPrefixCountInTheUnitOfTheirResource(t *testing.T) {
	want := amount.NewVector(amount.Request{Resource: "requests.cpu", Amount: 1500}, amount.Request{Resource: "limits.memory", Amount: 2048},
		amount.Request{Resource: "cpu", Amount: 1}, amount.Request{Resource: "requests.nvidia.com/gpu", Amount: 3})
	got := toVector(quantities("requests.cpu", "1500m", "limits.memory", "2Ki", "cpu", "100u", "requests.nvidia.com/gpu", "3"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatTheNamespaceAddsToPodsCounts(t *testing.T) {
	in := podrequests.Context{
		LimitRanges: []*corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: quantities("cpu", "2"), DefaultRequest: quantities("cpu", "1", "memory", "1Gi"),
		}}}}},
		RuntimeClass: &nodev1.RuntimeClass{Overhead: &nodev1.Overhead{PodFixed: quantities("cpu", "100m")}},
	}
	got := describePods(&corev1.PodSpec{Containers: []corev1.Container{container(nil, nil)}}, 1, in)
	want := quotafit.Pods{
		Count: 1, Undeclared: []string{"limits.memory"},
		Each: toVector(quantities("pods", "1", "count/pods", "1", "cpu", "1100m", "requests.cpu", "1100m", "limits.cpu", "2100m",
			"memory", "1Gi", "requests.memory", "1Gi")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatAQuotaLooksAtInAPod(t *testing.T) {
	full := quantities("cpu", "1", "memory", "1")
	declared := container(full, full)
	term := corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}
	anything := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Each" }, cmp.Ignore())
	for _, c := range []struct {
		name string
		spec corev1.PodSpec
		want quotafit.Pods
	}{
		{"a pod that declares everything", corev1.PodSpec{Containers: []corev1.Container{declared}}, quotafit.Pods{}},
		{
			"a pod that declares nothing", corev1.PodSpec{Containers: []corev1.Container{container(nil, nil)}},
			quotafit.Pods{BestEffort: true, Undeclared: []string{"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"}},
		},
		{
			"one container of two says nothing of its limits",
			corev1.PodSpec{Containers: []corev1.Container{declared, container(full, quantities("cpu", "1"))}},
			quotafit.Pods{Undeclared: []string{"limits.memory"}},
		},
		{
			"the pod speaks for its containers",
			corev1.PodSpec{
				Containers: []corev1.Container{container(nil, nil)},
				Resources:  &corev1.ResourceRequirements{Requests: full, Limits: full},
			},
			quotafit.Pods{},
		},
		{
			"a request of zero is no request, but a declaration",
			corev1.PodSpec{Containers: []corev1.Container{container(quantities("cpu", "0", "memory", "0"), quantities("cpu", "0", "memory", "0"))}},
			quotafit.Pods{BestEffort: true},
		},
		{
			"deadline and class",
			corev1.PodSpec{Containers: []corev1.Container{declared}, ActiveDeadlineSeconds: ptr.To[int64](9), PriorityClassName: "high"},
			quotafit.Pods{Terminating: true, PriorityClass: "high"},
		},
		{
			"affinity to pods elsewhere",
			corev1.PodSpec{Containers: []corev1.Container{declared}, Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: term}},
			}}},
			quotafit.Pods{CrossNamespaceAffinity: true},
		},
		{
			"affinity to pods of the same namespace",
			corev1.PodSpec{Containers: []corev1.Container{declared}, Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
			}}},
			quotafit.Pods{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, describePods(&c.spec, 0, podrequests.Context{}), anything); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
