package rayjob_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/rayjob"
)

// sample is the example, by the name that stories call it by.
var sample = rayjob.Examples().Job

func TestRayJobIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, rayjob.Kind(), rayjob.Examples())
}

func FuzzRayJob(f *testing.F) {
	jobtest.Fuzz(f, rayjob.Kind(), func(seed int64) {
		j, rc := sample(), &rayv1.RayCluster{}
		jobtest.Random(seed, j)
		jobtest.Random(seed, rc)
		rayjob.Kind().Children.Covers(j, rc)
		rayjob.Kind().Children.HoldsPods(rc)
	})
}

func podSets(t *testing.T, j *rayv1.RayJob) []kueue.PodSet {
	t.Helper()
	sets, err := rayjob.Kind().PodSets(j)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// requests are what the containers of a pod set ask for, "name cpu memory" each.
func requests(ps *kueue.PodSet) []string {
	var list []string
	for _, c := range ps.Template.Spec.Containers {
		list = append(list, c.Name+" "+c.Resources.Requests.Cpu().String()+" "+c.Resources.Requests.Memory().String())
	}
	return list
}

func TestWhoSubmitsIsCounted(t *testing.T) {
	for mode, want := range map[rayv1.JobSubmissionMode]struct {
		sets            int
		head, submitter []string
	}{
		"":                    {4, []string{"ray 0 0"}, []string{"ray-job-submitter 500m 200Mi"}},
		rayv1.K8sJobMode:      {4, []string{"ray 0 0"}, []string{"ray-job-submitter 500m 200Mi"}},
		rayv1.SidecarMode:     {3, []string{"ray 0 0", "ray-job-submitter 500m 200Mi"}, nil},
		rayv1.HTTPMode:        {3, []string{"ray 0 0"}, nil},
		rayv1.InteractiveMode: {3, []string{"ray 0 0"}, nil},
	} {
		t.Run(string(mode), func(t *testing.T) {
			j := sample()
			j.Spec.SubmissionMode = mode
			sets := podSets(t, j)
			if len(sets) != want.sets {
				t.Fatalf("%d pod sets", len(sets))
			}
			if diff := cmp.Diff(want.head, requests(&sets[0])); diff != "" {
				t.Errorf("head differs (-want +got):\n%s", diff)
			}
			if want.submitter == nil {
				return
			}
			last := sets[3]
			if diff := cmp.Diff(want.submitter, requests(&last)); diff != "" || last.Name != "submitter" || last.Count != 1 {
				t.Errorf("%s×%d differs (-want +got):\n%s", last.Name, last.Count, diff)
			}
			c := last.Template.Spec.Containers[0]
			if c.Image != "ray:2" || c.Resources.Limits.Cpu().String() != "1" || c.Resources.Limits.Memory().String() != "1Gi" || last.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
				t.Errorf("the submitter is %+v", last.Template.Spec)
			}
		})
	}
}

func TestTheSubmitterOfTheUserStaysAsItIs(t *testing.T) {
	j := sample()
	j.Spec.SubmitterPodTemplate = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mine"}}}}
	sets := podSets(t, j)
	if diff := cmp.Diff([]string{"mine 0 0"}, requests(&sets[3])); diff != "" {
		t.Errorf("submitter differs (-want +got):\n%s", diff)
	}
}

func TestTheMadeUpSubmitterIsInTheRayJobWhileItIsPlaced(t *testing.T) {
	j := sample()
	before := podSets(t, j)
	placements := make([]job.Placement, 4)
	placements[3] = job.Placement{NodeSelector: map[string]string{"gpu": "arm"}, Tolerations: []corev1.Toleration{{Key: "spot"}}}
	if err := rayjob.Kind().Place(j, placements); err != nil {
		t.Fatal(err)
	}
	if p := j.Spec.SubmitterPodTemplate; p == nil || p.Spec.NodeSelector["gpu"] != "arm" || len(p.Spec.Tolerations) != 1 {
		t.Fatalf("the submitter is %+v", p)
	}
	rayjob.Kind().Restore(j, before)
	if diff := cmp.Diff(sample(), j); diff != "" {
		t.Errorf("restored RayJob differs (-want +got):\n%s", diff)
	}
	if !job.SamePodSets(before, podSets(t, j)) {
		t.Error("it asks for something else now")
	}
}

func TestAMadeUpSubmitterThatSomebodyLeftAsksForTheSame(t *testing.T) {
	j := sample()
	want := podSets(t, j)
	j.Spec.SubmitterPodTemplate = want[3].Template.DeepCopy() // as other managers leave it
	if !job.SamePodSets(want, podSets(t, j)) {
		t.Error("the pod sets differ")
	}
}

func TestWhatIsWrongWithARayJob(t *testing.T) {
	selects := func(j *rayv1.RayJob) { j.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "mine"} }
	bare := func(j *rayv1.RayJob) { j.Spec.RayClusterSpec = nil }
	groups := func(n int) func(*rayv1.RayJob) {
		return func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.WorkerGroupSpecs = make([]rayv1.WorkerGroupSpec, n) }
	}
	keeps := func(j *rayv1.RayJob) { j.Spec.ShutdownAfterJobFinishes = false }
	scaled := func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.EnableInTreeAutoscaling = ptr.To(true) }
	for name, row := range map[string]struct {
		changes []func(*rayv1.RayJob)
		want    []string
	}{
		"nothing": {},
		"an existing cluster, and one of its own": {[]func(*rayv1.RayJob){selects, keeps}, []string{
			`spec.clusterSelector: Invalid value: {"ray.io/cluster":"mine"}: a kueue managed job should not use an existing cluster`,
		}},
		"an existing cluster alone": {changes: []func(*rayv1.RayJob){selects, bare, keeps}},
		"no cluster at all": {[]func(*rayv1.RayJob){bare, keeps}, []string{
			"spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector",
		}},
		"all else": {[]func(*rayv1.RayJob){keeps, scaled, groups(18), func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.WorkerGroupSpecs[0].GroupName = "head" }}, []string{
			"spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete the cluster after finishing",
			"spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job should only use autoscaling when workload slicing is enabled",
			"spec.rayClusterSpec.workerGroupSpecs: Too many: 20: must have at most 18 items",
			`spec.rayClusterSpec.workerGroupSpecs[0].groupName: Forbidden: "head" is reserved for the head group`,
		}},
		"autoscaling of an elastic one":                      {changes: []func(*rayv1.RayJob){scaled, func(j *rayv1.RayJob) { j.Annotations[kueue.ElasticJobAnnotation] = "true" }}},
		"as many groups as there can be with a submitter":    {changes: []func(*rayv1.RayJob){groups(16)}},
		"as many groups as there can be without a submitter": {changes: []func(*rayv1.RayJob){groups(17), func(j *rayv1.RayJob) { j.Spec.SubmissionMode = rayv1.HTTPMode }}},
		"one group more with a submitter":                    {[]func(*rayv1.RayJob){groups(17)}, []string{"spec.rayClusterSpec.workerGroupSpecs: Too many: 19: must have at most 18 items"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := sample()
			for _, change := range row.changes {
				change(j)
			}
			var got []string
			for _, err := range rayjob.Kind().Webhook.Validate(nil, j) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACopyOfARayJobDoesNotDeleteItself(t *testing.T) {
	j := sample()
	j.Spec.DeletionStrategy = &rayv1.DeletionStrategy{
		OnSuccess: &rayv1.DeletionPolicy{Policy: ptr.To(rayv1.DeleteSelf)}, OnFailure: &rayv1.DeletionPolicy{Policy: ptr.To(rayv1.DeleteNone)},
	}
	rayjob.Kind().Detach(j)
	if s := j.Spec.DeletionStrategy; *s.OnSuccess.Policy != rayv1.DeleteCluster || *s.OnFailure.Policy != rayv1.DeleteNone {
		t.Errorf("on success %s, on failure %s", *s.OnSuccess.Policy, *s.OnFailure.Policy)
	}
}
