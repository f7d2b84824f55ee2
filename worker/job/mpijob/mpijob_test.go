package mpijob_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/mpijob"
)

// sample is the example, by the name that stories call it by.
var sample = mpijob.Examples().Job

func TestMPIJobIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, mpijob.Kind(), mpijob.Examples())
}

func FuzzNoMPIJobMakesItsKindPanic(f *testing.F) {
	for seed := range int64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		jobtest.Survive(t, mpijob.Kind(), seed, func(name *mpi.MPIReplicaType, c randfill.Continue) {
			known := []mpi.MPIReplicaType{"Launcher", "Worker", "worker", ""}
			*name = known[c.Intn(len(known))]
		})
	})
}

func TestWhichReplicasOfAnMPIJobAreCounted(t *testing.T) {
	for name, row := range map[string]struct {
		change func(map[mpi.MPIReplicaType]*mpi.ReplicaSpec)
		want   map[kueue.PodSetReference]int32
		refuse string
	}{
		"a launcher and its workers":    {func(map[mpi.MPIReplicaType]*mpi.ReplicaSpec) {}, map[kueue.PodSetReference]int32{"launcher": 1, "worker": 3}, ""},
		"no number is one":              {func(s map[mpi.MPIReplicaType]*mpi.ReplicaSpec) { s["Worker"].Replicas = nil }, map[kueue.PodSetReference]int32{"launcher": 1, "worker": 1}, ""},
		"null is absent":                {func(s map[mpi.MPIReplicaType]*mpi.ReplicaSpec) { s["Worker"] = nil }, map[kueue.PodSetReference]int32{"launcher": 1}, ""},
		"a type that MPIJobs have not":  {func(s map[mpi.MPIReplicaType]*mpi.ReplicaSpec) { s["worker"] = s["Worker"] }, map[kueue.PodSetReference]int32{"launcher": 1, "worker": 3}, ""},
		"as many as a pod set can have": {func(s map[mpi.MPIReplicaType]*mpi.ReplicaSpec) { s["Worker"].Replicas = ptr.To[int32](math.MaxInt32) }, map[kueue.PodSetReference]int32{"launcher": 1, "worker": math.MaxInt32}, ""},
		"a negative number":             {func(s map[mpi.MPIReplicaType]*mpi.ReplicaSpec) { s["Worker"].Replicas = ptr.To[int32](-3) }, nil, "spec.mpiReplicaSpecs[Worker]: Invalid value: -3"},
	} {
		t.Run(name, func(t *testing.T) {
			j := sample()
			row.change(j.Spec.MPIReplicaSpecs)
			sets, err := mpijob.Kind().PodSets(j)
			if row.refuse != "" || err != nil {
				if err == nil || row.refuse == "" || !strings.HasPrefix(err.Error(), row.refuse) {
					t.Errorf("it says %v, want %q", err, row.refuse)
				}
				return
			}
			got := map[kueue.PodSetReference]int32{}
			for i := range sets {
				got[sets[i].Name] = sets[i].Count
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("pod sets differ (-want +got):\n%s", diff)
			}
		})
	}
	if got := mpijob.Kind().Webhook.TemplatePath(sample(), 1).String(); got != "spec.mpiReplicaSpecs[Worker].template.metadata" {
		t.Errorf("the worker's template is at %s", got)
	}
}

func TestRanksOfWorkersStartAtOneWhereTheLauncherIsOneOfThem(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*mpi.MPIJob, *job.Gates)
		want   string
	}{
		"the launcher is a worker":     {func(*mpi.MPIJob, *job.Gates) {}, "1"},
		"it is a launcher only":        {func(j *mpi.MPIJob, _ *job.Gates) { j.Spec.RunLauncherAsWorker = ptr.To(false) }, ""},
		"nothing is said of it":        {func(j *mpi.MPIJob, _ *job.Gates) { j.Spec.RunLauncherAsWorker = nil }, ""},
		"topologies are not looked at": {func(_ *mpi.MPIJob, g *job.Gates) { g.Topology = false }, ""},
		"there is no launcher":         {func(j *mpi.MPIJob, _ *job.Gates) { delete(j.Spec.MPIReplicaSpecs, "Launcher") }, ""},
		"both are ranked in one group": {func(j *mpi.MPIJob, _ *job.Gates) {
			j.Spec.MPIReplicaSpecs["Launcher"].Template.Annotations[kueue.PodSetGroupNameAnnotation] = ""
		}, ""},
		"workers alone are in the group": {func(j *mpi.MPIJob, _ *job.Gates) {
			j.Spec.MPIReplicaSpecs["Worker"].Template.Annotations[kueue.PodSetGroupNameAnnotation] = "g"
		}, "1"},
		"the templates say nothing": {func(j *mpi.MPIJob, _ *job.Gates) { j.Spec.MPIReplicaSpecs["Worker"].Template.Annotations = nil }, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			j, gates := sample(), job.DefaultGates()
			j.Spec.RunLauncherAsWorker = ptr.To(true)
			row.change(j, &gates)
			mpijob.Kind().Webhook.Default(j, gates)
			if got := j.Spec.MPIReplicaSpecs["Worker"].Template.Annotations[kueue.PodIndexOffsetAnnotation]; got != row.want {
				t.Errorf("the offset is %q, want %q", got, row.want)
			}
		})
	}
	none := &mpi.MPIJob{Spec: mpi.MPIJobSpec{RunLauncherAsWorker: ptr.To(true)}}
	mpijob.Kind().Webhook.Default(none, job.DefaultGates())
	if len(none.Spec.MPIReplicaSpecs) > 0 {
		t.Error("a job without replicas got some")
	}
}

func TestPriorityOfAnMPIJobGoesBeforeThatOfItsPods(t *testing.T) {
	j := sample()
	if got := mpijob.Kind().Priority(j); got != "" {
		t.Errorf("without a policy: %q", got)
	}
	j.Spec.RunPolicy.SchedulingPolicy = &mpi.SchedulingPolicy{PriorityClass: "high"}
	if got := mpijob.Kind().Priority(j); got != "high" {
		t.Errorf("%q", got)
	}
}

func TestAnMPIJobOfAnotherControllerIsNotDispatched(t *testing.T) {
	j := sample()
	j.Spec.RunPolicy.ManagedBy = ptr.To("kubeflow.org/mpi-operator")
	_, reason := job.NewIntegration(mpijob.Kind()).IsManagedByMultiKueue(j)
	if want := `Expecting spec.runPolicy.managedBy to be "kueue.x-k8s.io/multikueue" not "kubeflow.org/mpi-operator"`; reason != want {
		t.Errorf("it says %s, want %s", reason, want)
	}
}
