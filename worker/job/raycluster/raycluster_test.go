package raycluster_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/raycluster"
)

// sample is the example, by the name that stories call it by.
var sample = raycluster.Examples().Job

func TestRayClusterIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, raycluster.Kind(), raycluster.Examples())
}

func podSets(t *testing.T, rc *rayv1.RayCluster) []kueue.PodSet {
	t.Helper()
	sets, err := raycluster.Kind().PodSets(rc)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func TestHeadAndWorkerGroupsArePodSets(t *testing.T) {
	rc := sample()
	group := func(change func(*rayv1.WorkerGroupSpec)) {
		g := rayv1.WorkerGroupSpec{GroupName: "g" + string(rune('a'+len(rc.Spec.WorkerGroupSpecs)))}
		change(&g)
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, g)
	}
	group(func(*rayv1.WorkerGroupSpec) {})                                                                   // nothing said: one
	group(func(g *rayv1.WorkerGroupSpec) { g.Replicas = ptr.To[int32](0) })                                  // none
	group(func(g *rayv1.WorkerGroupSpec) { g.Replicas, g.MinReplicas = ptr.To[int32](1), ptr.To[int32](5) }) // KubeRay runs five
	got := []string{}
	for _, ps := range podSets(t, rc) {
		got = append(got, string(ps.Name)+"="+strconv.Itoa(int(ps.Count)))
	}
	if diff := cmp.Diff([]string{"head=1", "small=3", "tpu=8", "gc=1", "gd=0", "ge=5"}, got); diff != "" {
		t.Errorf("pod sets differ (-want +got):\n%s", diff)
	}
}

func TestARayClusterThatCannotBeCountedIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*rayv1.RayCluster)
		want   string
	}{
		"more hosts than a number": {func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[1].Replicas, rc.Spec.WorkerGroupSpecs[1].NumOfHosts = ptr.To[int32](65537), 65537
		}, "spec.workerGroupSpecs[1]: Invalid value: 4295098369"},
		"less than none": {func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs[0].Replicas, rc.Spec.WorkerGroupSpecs[0].MinReplicas = ptr.To[int32](-3), ptr.To[int32](math.MinInt32)
		}, "spec.workerGroupSpecs[0]: Invalid value: -3"},
		"fault tolerance without a container": {func(rc *rayv1.RayCluster) {
			rc.Spec.GcsFaultToleranceOptions, rc.Spec.HeadGroupSpec.Template.Spec.Containers = &rayv1.GcsFaultToleranceOptions{}, nil
		}, "cannot account for Redis cleanup resources: head pod template must include the Ray container"},
	} {
		t.Run(name, func(t *testing.T) {
			rc := sample()
			row.change(rc)
			if _, err := raycluster.Kind().PodSets(rc); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
}

func resources(requests, limits string) corev1.ResourceRequirements {
	parse := func(text string) corev1.ResourceList {
		var list corev1.ResourceList
		for _, part := range strings.Fields(text) {
			name, quantity, _ := strings.Cut(part, "=")
			if list == nil {
				list = corev1.ResourceList{}
			}
			list[corev1.ResourceName(name)] = resource.MustParse(quantity)
		}
		return list
	}
	return corev1.ResourceRequirements{Requests: parse(requests), Limits: parse(limits)}
}

func TestWhatKubeRayAddsToTheHeadIsCounted(t *testing.T) {
	tolerant := func(rc *rayv1.RayCluster) { rc.Annotations["ray.io/ft-enabled"] = "TRUE" }
	first := func(r corev1.ResourceRequirements) func(*rayv1.RayCluster) {
		return func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Resources = r }
	}
	scaled := func(rc *rayv1.RayCluster) { rc.Spec.EnableInTreeAutoscaling = ptr.To(true) }
	for name, row := range map[string]struct {
		changes []func(*rayv1.RayCluster)
		want    []corev1.ResourceRequirements
	}{
		"nothing": {nil, []corev1.ResourceRequirements{{}}},
		"the autoscaler": {[]func(*rayv1.RayCluster){scaled}, []corev1.ResourceRequirements{
			{}, resources("cpu=500m memory=512Mi", "cpu=500m memory=512Mi"),
		}},
		"the autoscaler as its user wants it": {[]func(*rayv1.RayCluster){scaled, func(rc *rayv1.RayCluster) {
			rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Resources: ptr.To(resources("cpu=2", ""))}
		}}, []corev1.ResourceRequirements{{}, resources("cpu=2", "")}},
		"the clean-up": {[]func(*rayv1.RayCluster){tolerant}, []corev1.ResourceRequirements{resources("cpu=200m memory=256Mi", "")}},
		"the clean-up, by the newer field": {[]func(*rayv1.RayCluster){func(rc *rayv1.RayCluster) {
			rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{}
		}}, []corev1.ResourceRequirements{resources("cpu=200m memory=256Mi", "")}},
		"the clean-up, where the head asks for more of one": {
			[]func(*rayv1.RayCluster){tolerant, first(resources("cpu=4 memory=1Mi nvidia.com/gpu=1", ""))},
			[]corev1.ResourceRequirements{resources("cpu=4 memory=256Mi nvidia.com/gpu=1", "")},
		},
		"the clean-up, where limits are requests": {
			[]func(*rayv1.RayCluster){tolerant, first(resources("", "cpu=4 memory=1Mi"))},
			[]corev1.ResourceRequirements{resources("memory=256Mi", "cpu=4 memory=1Mi")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rc := sample()
			for _, change := range row.changes {
				change(rc)
			}
			before := rc.DeepCopy()
			got := []corev1.ResourceRequirements{}
			sets := podSets(t, rc)
			for _, c := range sets[0].Template.Spec.Containers {
				got = append(got, c.Resources)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("resources of the head differ (-want +got):\n%s", diff)
			}
			raycluster.Kind().Restore(rc, sets)
			if diff := cmp.Diff(before, rc); diff != "" {
				t.Errorf("it is in the RayCluster as well (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheGateOfElasticJobsIsOnEveryTemplateOnce(t *testing.T) {
	gates := func(rc *rayv1.RayCluster) int {
		return len(rc.Spec.HeadGroupSpec.Template.Spec.SchedulingGates) + len(rc.Spec.WorkerGroupSpecs[0].Template.Spec.SchedulingGates) +
			len(rc.Spec.WorkerGroupSpecs[1].Template.Spec.SchedulingGates)
	}
	for name, row := range map[string]struct {
		annotation string
		gate       bool
		want       int
	}{"elastic": {"true", true, 3}, "not elastic": {"false", true, 0}, "with the feature switched off": {"true", false, 0}} {
		t.Run(name, func(t *testing.T) {
			rc := sample()
			rc.Annotations[kueue.ElasticJobAnnotation] = row.annotation
			for range 2 {
				raycluster.Kind().Webhook.Default(rc, job.Gates{ElasticJobs: row.gate})
			}
			if got := gates(rc); got != row.want {
				t.Errorf("%d gates, want %d", got, row.want)
			}
		})
	}
}
