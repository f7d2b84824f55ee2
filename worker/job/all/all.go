// Package all is the one list of the kinds of job that are compiled in.
package all

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/appwrapper"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/deployment"
	"switchyard.dev/worker/job/jobset"
	"switchyard.dev/worker/job/kubeflow"
	"switchyard.dev/worker/job/leaderworkerset"
	"switchyard.dev/worker/job/mpijob"
	"switchyard.dev/worker/job/podgroup"
	"switchyard.dev/worker/job/raycluster"
	"switchyard.dev/worker/job/rayjob"
	"switchyard.dev/worker/job/rayservice"
	"switchyard.dev/worker/job/sparkapplication"
	"switchyard.dev/worker/job/statefulset"
	"switchyard.dev/worker/job/trainjob"
)

// Kinds returns every integration, in the order of the contract's catalogue (contract: kueue-api.md 3.2).
func Kinds() []job.Integration {
	return []job.Integration{
		proven(batchjob.Kind(), batchjob.Examples()),
		proven(jobset.Kind(), jobset.Examples()),
		proven(trainjob.Kind(), trainjob.Examples()),
		proven(mpijob.Kind(), mpijob.Examples()),
		proven(kubeflow.TFKind(), kubeflow.TFExamples()),
		proven(kubeflow.PyTorchKind(), kubeflow.PyTorchExamples()),
		proven(kubeflow.PaddleKind(), kubeflow.PaddleExamples()),
		proven(kubeflow.XGBoostKind(), kubeflow.XGBoostExamples()),
		proven(kubeflow.JAXKind(), kubeflow.JAXExamples()),
		proven(raycluster.Kind(), raycluster.Examples()),
		proven(rayjob.Kind(), rayjob.Examples()),
		proven(rayservice.Kind(), rayservice.Examples()),
		proven(appwrapper.Kind(), appwrapper.Examples()),
		proven(sparkapplication.Kind(), sparkapplication.Examples()),
	}
}

// Frameworks returns what is served besides, whose objects cannot be suspended: their pods wait instead.
func Frameworks() []job.Framework {
	return []job.Framework{podgroup.New(), deployment.Framework(), statefulset.Framework(), leaderworkerset.Framework()}
}

// Mirrored are by what a hub runs the objects of frameworks on other clusters, if its configuration names them (contract: job-kinds.md 10.8, 12, 13).
func Mirrored() []job.Integration {
	return []job.Integration{podgroup.Mirrored(), statefulset.Mirrored(), leaderworkerset.Mirrored()}
}

// Names are those of all that the configuration can name.
func Names() []string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name())
	}
	for _, framework := range Frameworks() {
		names = append(names, framework.Name())
	}
	return names
}

// proven takes up a kind that has examples to prove it by. That each package runs the proof, its test here sees to.
func proven[T client.Object](kind job.Kind[T], _ job.Examples[T]) job.Integration {
	return job.NewIntegration(kind)
}
