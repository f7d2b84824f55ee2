package raycluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/raycluster"
)

func elastic(rc *rayv1.RayCluster) { rc.Annotations[kueue.ElasticJobAnnotation] = "true" }
func scaled(rc *rayv1.RayCluster)  { rc.Spec.EnableInTreeAutoscaling = ptr.To(true) }
func gated(rc *rayv1.RayCluster) {
	elastic(rc)
	raycluster.Kind().Webhook.Default(rc, job.Gates{ElasticJobs: true})
}

func groups(n int) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = make([]rayv1.WorkerGroupSpec, n) }
}

func named(name string) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[1].GroupName = name }
}

func TestWhatIsWrongWithARayCluster(t *testing.T) {
	for name, row := range map[string]struct {
		changes []func(*rayv1.RayCluster)
		want    []string
	}{
		"nothing": {},
		"autoscaling of one that is not elastic": {[]func(*rayv1.RayCluster){scaled}, []string{
			`spec.enableInTreeAutoscaling: Invalid value: true: a kueue-managed RayCluster can use autoscaling only as an elastic job: ` +
				`enable the ElasticJobsViaWorkloadSlices feature gate and set the "kueue.x-k8s.io/elastic-job": "true" annotation`,
		}},
		"autoscaling of an elastic one": {changes: []func(*rayv1.RayCluster){scaled, gated}},
		"no gates on an elastic one": {[]func(*rayv1.RayCluster){gated, func(rc *rayv1.RayCluster) {
			rc.Spec.HeadGroupSpec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "mine"}}
			rc.Spec.WorkerGroupSpecs[1].Template.Spec.SchedulingGates = nil
		}}, []string{
			"spec.workerGroupSpecs[1].template.spec.schedulingGates: Invalid value: null: an elastic job must have the ElasticJobSchedulingGate",
			`spec.headGroupSpec.template.spec.schedulingGates: Invalid value: [{"name":"mine"}]: an elastic job must have the ElasticJobSchedulingGate`,
		}},
		"autoscaling on another cluster": {[]func(*rayv1.RayCluster){scaled, gated, func(rc *rayv1.RayCluster) {
			rc.Spec.ManagedBy = ptr.To(kueue.MultiKueueControllerName)
		}}, []string{
			"spec.enableInTreeAutoscaling: Forbidden: in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster",
		}},
		"as many groups as there can be": {changes: []func(*rayv1.RayCluster){groups(17)}},
		"one group more":                 {[]func(*rayv1.RayCluster){groups(18)}, []string{"spec.workerGroupSpecs: Too many: 19: must have at most 18 items"}},
		"the name of the head":           {[]func(*rayv1.RayCluster){named("head")}, []string{`spec.workerGroupSpecs[1].groupName: Forbidden: "head" is reserved for the head group`}},
		"the name of the head, in other letters": {[]func(*rayv1.RayCluster){named("Head")}, []string{
			`spec.workerGroupSpecs[1].groupName: Forbidden: "head" is reserved for the head group`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rc := sample()
			for _, change := range row.changes {
				change(rc)
			}
			var got []string
			for _, err := range raycluster.Kind().Webhook.Validate(nil, rc) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
}
