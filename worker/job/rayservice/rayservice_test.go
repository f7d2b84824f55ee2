package rayservice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/rayservice"
)

// The examples, by the names that stories call them by.
var (
	sample  = rayservice.Examples().Job
	started = rayservice.Examples().Started
	ended   = rayservice.Examples().Suspending
)

func TestRayServiceIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, rayservice.Kind(), rayservice.Examples())
}

func FuzzRayService(f *testing.F) {
	jobtest.Fuzz(f, rayservice.Kind(), func(seed int64) {
		rs, rc := &rayv1.RayService{}, &rayv1.RayCluster{}
		jobtest.Random(seed, rs)
		jobtest.Random(seed, rc)
		rs.Status.ActiveServiceStatus.RayClusterName = rc.Name
		rayservice.Kind().Children.Covers(rs, rc)
		rayservice.Kind().Children.HoldsPods(rc)
	})
}

func TestHowFarARayServiceIs(t *testing.T) {
	pending := func(rs *rayv1.RayService) { rs.Status.PendingServiceStatus.RayClusterName = "next" }
	for name, row := range map[string]struct {
		suspend bool
		status  func(*rayv1.RayService)
		want    job.Progress
	}{
		"nobody has seen it":                  {false, func(*rayv1.RayService) {}, job.Progress{}},
		"its first cluster starts":            {false, pending, job.Progress{Active: true}},
		"its cluster waits for its admission": {true, pending, job.Progress{}},
		"it serves":                           {false, started, job.Progress{Active: true, Ready: true}},
		"it serves no more":                   {false, ended, job.Progress{Active: true}},
		"it was told to stop":                 {true, started, job.Progress{Active: true}},
		"it has stopped":                      {true, ended, job.Progress{}},
	} {
		t.Run(name, func(t *testing.T) {
			rs := sample()
			rs.Spec.RayClusterSpec.Suspend = &row.suspend
			row.status(rs)
			if diff := cmp.Diff(row.want, rayservice.Kind().Progress(rs)); diff != "" {
				t.Errorf("progress differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsWrongWithARayService(t *testing.T) {
	rs := sample()
	rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = ptr.To(true)
	rs.Spec.RayClusterSpec.WorkerGroupSpecs = make([]rayv1.WorkerGroupSpec, 18)
	rs.Spec.RayClusterSpec.WorkerGroupSpecs[2].GroupName = "head"
	got := []string{}
	for _, err := range rayservice.Kind().Webhook.Validate(nil, rs) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff([]string{
		"spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job should only use autoscaling when workload slicing is enabled",
		"spec.rayClusterSpec.workerGroupSpecs: Too many: 19: must have at most 18 items",
		`spec.rayClusterSpec.workerGroupSpecs[2].groupName: Forbidden: "head" is reserved for the head group`,
	}, got); diff != "" {
		t.Errorf("errors differ (-want +got):\n%s", diff)
	}
}

func TestPodsOfAnElasticRayServiceAreGated(t *testing.T) {
	rs := sample()
	rs.Annotations[kueue.ElasticJobAnnotation] = "true"
	rayservice.Kind().Webhook.Default(rs, job.DefaultGates())
	gates := rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.SchedulingGates
	if diff := cmp.Diff([]corev1.PodSchedulingGate{{Name: kueue.ElasticJobSchedulingGate}}, gates); diff != "" {
		t.Errorf("gates differ (-want +got):\n%s", diff)
	}
}

func TestOnlyTheRayClustersThatAreNamedArePaidFor(t *testing.T) {
	named := func(name string, change ...func(*rayv1.RayCluster)) *rayv1.RayCluster {
		rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: sample().Spec.RayClusterSpec}
		for _, change := range change {
			change(rc)
		}
		return rc
	}
	larger := func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = ptr.To[int32](99) }
	rs := sample()
	started(rs)
	rs.Status.PendingServiceStatus.RayClusterName = "next"
	for name, row := range map[string]struct {
		child client.Object
		want  bool
	}{
		"the one that serves":      {named("serve-abcde"), true},
		"the one that is to serve": {named("next"), true},
		"another one":              {named("serve-fghij"), false},
		"one that asks for more":   {named("next", larger), false},
		"what is no RayCluster":    {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "next"}}, false},
	} {
		if got := rayservice.Kind().Children.Covers(rs, row.child); got != row.want {
			t.Errorf("%s: covered %v, want %v", name, got, row.want)
		}
	}
	if rayservice.Kind().Children.Covers(sample(), named("")) {
		t.Error("a RayCluster without a name is the child of a RayService that has named none")
	}
}

func TestARemoteRayServiceServesWhatTheLocalOneDoes(t *testing.T) {
	local, remote := sample(), sample()
	local.Spec.ServeConfigV2, local.Spec.RayClusterSpec.RayVersion = "applications: [{}]", "3"
	want := sample()
	want.Spec.ServeConfigV2 = local.Spec.ServeConfigV2
	for _, changed := range []bool{true, false} {
		if got := rayservice.Kind().SyncSpec(local, remote); got != changed {
			t.Errorf("changed %v, want %v", got, changed)
		}
	}
	if diff := cmp.Diff(want, remote); diff != "" {
		t.Errorf("remote RayService differs (-want +got):\n%s", diff)
	}
}

func TestWhenKubeRayHasActed(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	rs := sample()
	at := func() time.Time { return job.NewIntegration(rayservice.Kind()).LastControllerUpdate(rs) }
	started(rs)
	rs.Status.Conditions[0].LastTransitionTime = noon
	if !at().Equal(noon.Time) {
		t.Errorf("%v, want the condition's", at())
	}
	rs.Status.LastUpdateTime = ptr.To(metav1.NewTime(noon.Add(time.Second)))
	if !at().Equal(rs.Status.LastUpdateTime.Time) {
		t.Errorf("%v, want the status' own", at())
	}
}
