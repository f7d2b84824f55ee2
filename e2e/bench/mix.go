package bench

import (
	"context"
	"fmt"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/kubeflow"
	"switchyard.dev/worker/job/mpijob"
	"switchyard.dev/worker/job/rayjob"
)

// mixName is the traffic of jobs of several kinds, all at once.
const mixName = "mix"

// mixedKind is a kind of the traffic "mix". Its jobs are the kind's examples, and the runner plays their controller as those say.
type mixedKind struct {
	job.Integration
	operator  clusters.Operator
	newJob    func() client.Object
	suspended func(client.Object) bool
	play      func(o client.Object, ended bool)
	// pods is how many pods one of its jobs asks for.
	pods int
}

func newMixedKind[T client.Object](kind job.Kind[T], examples job.Examples[T], operator clusters.Operator) mixedKind {
	as := func(o client.Object) T {
		t, ok := o.(T)
		if !ok {
			panic(fmt.Sprintf("a %T among jobs of kind %s", o, kind.Name))
		}
		return t
	}
	return mixedKind{
		pods:        countPods(kind, examples.Job()),
		Integration: job.NewIntegration(kind), operator: operator,
		newJob:    func() client.Object { return examples.Job() },
		suspended: func(o client.Object) bool { return kind.Suspended(as(o)) },
		play: func(o client.Object, ended bool) {
			examples.Started(as(o))
			if ended {
				examples.Succeeded(as(o))
			}
		},
	}
}

// countPods is how many pods an example asks for.
func countPods[T client.Object](kind job.Kind[T], example T) int {
	sets, err := kind.PodSets(example)
	if err != nil {
		panic(fmt.Sprintf("an example of %s: %v", kind.Name, err))
	}
	n := 0
	for i := range sets {
		n += int(sets[i].Count)
	}
	return n
}

// mixedKinds are the kinds of the traffic "mix", in the order in which jobs of them come.
func mixedKinds() []mixedKind {
	return []mixedKind{
		newMixedKind(batchjob.Kind(), batchjob.Examples(), ""),
		newMixedKind(kubeflow.PyTorchKind(), kubeflow.PyTorchExamples(), clusters.TrainingOperator),
		newMixedKind(jobset.Kind(), jobset.Examples(), clusters.JobSet),
		newMixedKind(rayjob.Kind(), rayExamples(), clusters.KubeRay),
		newMixedKind(mpijob.Kind(), mpijob.Examples(), clusters.MPIOperator),
	}
}

// rayExamples are RayJobs without a pod that submits them, which would need memory.
func rayExamples() job.Examples[*rayv1.RayJob] {
	examples := rayjob.Examples()
	newJob := examples.Job
	examples.Job = func() *rayv1.RayJob {
		j := newJob()
		j.Spec.SubmissionMode = rayv1.HTTPMode
		return j
	}
	return examples
}

func integrations(kinds []mixedKind) []job.Integration {
	var list []job.Integration
	for _, k := range kinds {
		list = append(list, k.Integration)
	}
	return list
}

// operatorsOf are those whose CRDs the kinds need.
func operatorsOf(kinds []mixedKind) []clusters.Operator {
	var list []clusters.Operator
	for _, k := range kinds {
		if k.operator != "" && !slices.Contains(list, k.operator) {
			list = append(list, k.operator)
		}
	}
	return list
}

// schemeWith knows the kinds besides those that users of Switchyard deal with in any case.
func schemeWith(kinds []mixedKind) (*runtime.Scheme, error) {
	scheme := installation.Scheme()
	for _, k := range kinds {
		if err := k.AddToScheme(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// queued is a job as a user submits it.
func (k mixedKind) queued(name, queue string) client.Object {
	o := k.newJob()
	o.SetNamespace(team)
	o.SetName(name)
	o.SetLabels(map[string]string{kueue.QueueNameLabel: queue})
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetOwnerReferences(nil)
	o.SetCreationTimestamp(metav1.Time{})
	return o
}

// playStatus has the status of a job say that its pods run, or that it has succeeded.
func (k mixedKind) playStatus(ctx context.Context, c client.Client, name string, ended bool) error {
	err := persist(ctx, func() error {
		o := k.New()
		if err := c.Get(ctx, client.ObjectKey{Namespace: team, Name: name}, o); err != nil {
			return err
		}
		before, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", o)
		}
		k.play(o, ended)
		return c.Status().Patch(ctx, o, client.MergeFrom(before))
	})
	if err != nil {
		return fmt.Errorf("play %s %s: %w", k.GVK().Kind, name, err)
	}
	return nil
}
