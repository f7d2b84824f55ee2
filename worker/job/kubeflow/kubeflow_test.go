package kubeflow_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	training "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/jobtest"
	"switchyard.dev/worker/job/kubeflow"
)

func TestTrainingJobsAreConformingKinds(t *testing.T) {
	t.Run("TFJob", func(t *testing.T) { jobtest.Verify(t, kubeflow.TFKind(), kubeflow.TFExamples()) })
	t.Run("PyTorchJob", func(t *testing.T) { jobtest.Verify(t, kubeflow.PyTorchKind(), kubeflow.PyTorchExamples()) })
	t.Run("XGBoostJob", func(t *testing.T) { jobtest.Verify(t, kubeflow.XGBoostKind(), kubeflow.XGBoostExamples()) })
	t.Run("PaddleJob", func(t *testing.T) { jobtest.Verify(t, kubeflow.PaddleKind(), kubeflow.PaddleExamples()) })
	t.Run("JAXJob", func(t *testing.T) { jobtest.Verify(t, kubeflow.JAXKind(), kubeflow.JAXExamples()) })
}

func FuzzNoTrainingJobMakesItsKindPanic(f *testing.F) {
	for seed := range int64(60) {
		f.Add(seed)
	}
	names := func(name *training.ReplicaType, c randfill.Continue) {
		known := []training.ReplicaType{"Worker", "worker", "Master", "CHIEF", "PS", "Evaluator", "Launcher", ""}
		*name = known[c.Intn(len(known))]
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		jobtest.Survive(t, kubeflow.TFKind(), seed, names)
		jobtest.Survive(t, kubeflow.PyTorchKind(), seed, names)
		jobtest.Survive(t, kubeflow.XGBoostKind(), seed, names)
		jobtest.Survive(t, kubeflow.PaddleKind(), seed, names)
		jobtest.Survive(t, kubeflow.JAXKind(), seed, names)
	})
}

func TestPodSetsComeInTheOrderOfTheKind(t *testing.T) {
	want := map[string][]kueue.PodSetReference{
		"kubeflow.org/tfjob":      {"chief", "master", "ps", "worker", "evaluator"},
		"kubeflow.org/pytorchjob": {"master", "worker"},
		"kubeflow.org/xgboostjob": {"master", "worker"},
		"kubeflow.org/paddlejob":  {"master", "worker"},
		"kubeflow.org/jaxjob":     {"worker"},
	}
	got := map[string][]kueue.PodSetReference{}
	for name, sets := range map[string]func() ([]kueue.PodSet, error){
		kubeflow.TFKind().Name: func() ([]kueue.PodSet, error) { return kubeflow.TFKind().PodSets(kubeflow.TFExamples().Job()) },
		kubeflow.PyTorchKind().Name: func() ([]kueue.PodSet, error) {
			return kubeflow.PyTorchKind().PodSets(kubeflow.PyTorchExamples().Job())
		},
		kubeflow.XGBoostKind().Name: func() ([]kueue.PodSet, error) {
			return kubeflow.XGBoostKind().PodSets(kubeflow.XGBoostExamples().Job())
		},
		kubeflow.PaddleKind().Name: func() ([]kueue.PodSet, error) { return kubeflow.PaddleKind().PodSets(kubeflow.PaddleExamples().Job()) },
		kubeflow.JAXKind().Name:    func() ([]kueue.PodSet, error) { return kubeflow.JAXKind().PodSets(kubeflow.JAXExamples().Job()) },
	} {
		found, err := sets()
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			got[name] = append(got[name], found[i].Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod sets differ (-want +got):\n%s", diff)
	}
}

func TestWhichReplicasOfAPyTorchJobAreCounted(t *testing.T) {
	of := func(count *int32) *training.ReplicaSpec {
		spec := kubeflow.PyTorchExamples().Job().Spec.PyTorchReplicaSpecs["Worker"]
		spec.Replicas = count
		return spec
	}
	for name, row := range map[string]struct {
		specs map[training.ReplicaType]*training.ReplicaSpec
		want  map[kueue.PodSetReference]int32
	}{
		"no number is one":                 {map[training.ReplicaType]*training.ReplicaSpec{"Worker": of(nil)}, map[kueue.PodSetReference]int32{"worker": 1}},
		"none stays none":                  {map[training.ReplicaType]*training.ReplicaSpec{"Worker": of(ptr.To[int32](0))}, map[kueue.PodSetReference]int32{"worker": 0}},
		"null is absent":                   {map[training.ReplicaType]*training.ReplicaSpec{"Master": nil, "Worker": of(nil)}, map[kueue.PodSetReference]int32{"worker": 1}},
		"a type in other case":             {map[training.ReplicaType]*training.ReplicaSpec{"MASTER": of(ptr.To[int32](2))}, map[kueue.PodSetReference]int32{"master": 2}},
		"a type that the kind has not":     {map[training.ReplicaType]*training.ReplicaSpec{"Launcher": of(nil), "Worker": of(nil)}, map[kueue.PodSetReference]int32{"worker": 1}},
		"as many as a pod set can have":    {map[training.ReplicaType]*training.ReplicaSpec{"Worker": of(ptr.To[int32](math.MaxInt32))}, map[kueue.PodSetReference]int32{"worker": math.MaxInt32}},
		"no replicas at all":               {nil, map[kueue.PodSetReference]int32{}},
		"only types that the kind has not": {map[training.ReplicaType]*training.ReplicaSpec{"": of(nil)}, map[kueue.PodSetReference]int32{}},
	} {
		t.Run(name, func(t *testing.T) {
			j := kubeflow.PyTorchExamples().Job()
			j.Spec.PyTorchReplicaSpecs = row.specs
			sets, err := kubeflow.PyTorchKind().PodSets(j)
			if err != nil {
				t.Fatal(err)
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
}

func TestANegativeNumberOfReplicasIsRefused(t *testing.T) {
	j := kubeflow.TFExamples().Job()
	j.Spec.TFReplicaSpecs["PS"].Replicas = ptr.To[int32](-1)
	_, err := kubeflow.TFKind().PodSets(j)
	if want := "spec.tfReplicaSpecs[PS]: Invalid value: -1: must be 0 to 2147483647 pods"; err == nil || err.Error() != want {
		t.Errorf("it says %v, want %s", err, want)
	}
}

func TestWhereThePodTemplatesAre(t *testing.T) {
	tf, jax := kubeflow.TFExamples().Job(), kubeflow.JAXExamples().Job()
	for want, got := range map[string]string{
		"spec.tfReplicaSpecs[Evaluator].template.metadata": kubeflow.TFKind().Webhook.TemplatePath(tf, 4).String(),
		"spec.jaxReplicaSpecs[Worker].template.metadata":   kubeflow.JAXKind().Webhook.TemplatePath(jax, 0).String(),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestATypeThatIsThereTwiceIsTwoPodSets(t *testing.T) {
	j := kubeflow.JAXExamples().Job()
	j.Spec.JAXReplicaSpecs["worker"] = j.Spec.JAXReplicaSpecs["Worker"].DeepCopy()
	sets, err := kubeflow.JAXKind().PodSets(j) // whose names are not distinct, which the framework refuses
	if err != nil || len(sets) != 2 || sets[0].Name != sets[1].Name {
		t.Errorf("%d pod sets, %v", len(sets), err)
	}
	second := kubeflow.JAXKind().Webhook.TemplatePath(j, 1).String()
	if !strings.Contains(second, "[worker]") {
		t.Errorf("the second is %s", second)
	}
}

func TestPriorityOfAJobGoesBeforeThatOfItsPods(t *testing.T) {
	j := kubeflow.XGBoostExamples().Job()
	if got := kubeflow.XGBoostKind().Priority(j); got != "" {
		t.Errorf("without a policy: %q", got)
	}
	j.Spec.RunPolicy.SchedulingPolicy = &training.SchedulingPolicy{PriorityClass: "high"}
	if got := kubeflow.XGBoostKind().Priority(j); got != "high" {
		t.Errorf("%q", got)
	}
}

func TestWhatATrainingJobsStatusSays(t *testing.T) {
	condition := func(kind training.JobConditionType, status corev1.ConditionStatus) training.JobCondition {
		return training.JobCondition{Type: kind, Status: status, Message: "because " + string(kind)}
	}
	failed, succeeded := condition(training.JobFailed, "True"), condition(training.JobSucceeded, "True")
	for name, row := range map[string]struct {
		status training.JobStatus
		want   job.Progress
	}{
		"nothing yet":    {training.JobStatus{}, job.Progress{}},
		"one pod runs":   {training.JobStatus{ReplicaStatuses: map[training.ReplicaType]*training.ReplicaStatus{"Worker": {Active: 1}, "Master": nil}}, job.Progress{Active: true}},
		"it is running":  {training.JobStatus{Conditions: []training.JobCondition{condition(training.JobRunning, "True")}}, job.Progress{Ready: true}},
		"it was running": {training.JobStatus{Conditions: []training.JobCondition{condition(training.JobRunning, "False")}}, job.Progress{}},
		"it has failed":  {training.JobStatus{Conditions: []training.JobCondition{failed}}, job.Progress{Finished: &job.Outcome{Message: "because Failed"}}},
		"the first end counts": {training.JobStatus{Conditions: []training.JobCondition{condition(training.JobFailed, "False"), succeeded, failed}},
			job.Progress{Finished: &job.Outcome{Success: true, Message: "because Succeeded"}}},
	} {
		t.Run(name, func(t *testing.T) {
			j := kubeflow.PaddleExamples().Job()
			j.Spec.RunPolicy.Suspend, j.Status = nil, row.status
			if diff := cmp.Diff(row.want, kubeflow.PaddleKind().Progress(j)); diff != "" {
				t.Errorf("progress differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsOfATrainingJobAreFoundByItsNameAndOperator(t *testing.T) {
	want := map[string]string{"training.kubeflow.org/job-name": "train", "training.kubeflow.org/operator-name": "jaxjob-controller"}
	if diff := cmp.Diff(want, kubeflow.JAXKind().PodLabels(kubeflow.JAXExamples().Job())); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}

func TestAJobOfAnotherControllerIsNotDispatched(t *testing.T) {
	j := kubeflow.PyTorchExamples().Job()
	j.Spec.RunPolicy.ManagedBy = ptr.To("kubeflow.org/training-operator")
	_, reason := job.NewIntegration(kubeflow.PyTorchKind()).IsManagedByMultiKueue(j)
	if want := `Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "kubeflow.org/training-operator"`; reason != want {
		t.Errorf("it says %s, want %s", reason, want)
	}
}
