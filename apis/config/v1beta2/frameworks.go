package v1beta2

import "slices"

// framework is a kind of job that the configuration knows by name
// (contract: kueue-api.md 3.2).
type framework struct {
	name string
	// gvk is its Kind.version.group; empty where jobs are not mirrored.
	gvk string
}

// frameworks are all kinds of job; which of them a program has compiled in is its
// own affair.
func frameworks() []framework {
	return []framework{
		{"batch/job", "Job.v1.batch"},
		{"jobset.x-k8s.io/jobset", "JobSet.v1alpha2.jobset.x-k8s.io"},
		{"trainer.kubeflow.org/trainjob", "TrainJob.v1alpha1.trainer.kubeflow.org"},
		{"kubeflow.org/mpijob", "MPIJob.v2beta1.kubeflow.org"},
		{"kubeflow.org/tfjob", "TFJob.v1.kubeflow.org"},
		{"kubeflow.org/pytorchjob", "PyTorchJob.v1.kubeflow.org"},
		{"kubeflow.org/paddlejob", "PaddleJob.v1.kubeflow.org"},
		{"kubeflow.org/xgboostjob", "XGBoostJob.v1.kubeflow.org"},
		{"kubeflow.org/jaxjob", "JAXJob.v1.kubeflow.org"},
		{"ray.io/raycluster", "RayCluster.v1.ray.io"},
		{"ray.io/rayjob", "RayJob.v1.ray.io"},
		{"ray.io/rayservice", "RayService.v1.ray.io"},
		{"workload.codeflare.dev/appwrapper", "AppWrapper.v1beta2.workload.codeflare.dev"},
		{sparkFramework, ""},
		{"pod", "Pod.v1."},
		{"deployment", ""},
		{"statefulset", "StatefulSet.v1.apps"},
		{"leaderworkerset.x-k8s.io/leaderworkerset", "LeaderWorkerSet.v1.leaderworkerset.x-k8s.io"},
	}
}

// sparkFramework exists only with its gate.
const sparkFramework = "sparkoperator.k8s.io/sparkapplication"

func frameworkNames() []string {
	var names []string
	for _, f := range frameworks() {
		names = append(names, f.name)
	}
	return names
}

// mirrored are the kinds, as Kind.version.group, of frameworks that a hub mirrors
// without being told how.
func mirrored(names []string) []string {
	var kinds []string
	for _, f := range frameworks() {
		if f.gvk != "" && slices.Contains(names, f.name) {
			kinds = append(kinds, f.gvk)
		}
	}
	return kinds
}
