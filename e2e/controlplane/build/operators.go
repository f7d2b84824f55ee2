package main

import (
	"maps"
	"slices"
)

const (
	trainingOperator = "github.com/kubeflow/training-operator"
	mpiOperator      = "github.com/kubeflow/mpi-operator"
	kuberay          = "github.com/ray-project/kuberay/ray-operator"
	trainer          = "github.com/kubeflow/trainer/v2"
	lws              = "sigs.k8s.io/lws"
	appwrapper       = "github.com/project-codeflare/appwrapper"
	sparkOperator    = "github.com/kubeflow/spark-operator/v2"
	tekton           = "github.com/tektoncd/pipeline"
	// ours has the manifests that an operator writes only when it runs.
	ours = "switchyard.dev/e2e/controlplane/operators"
)

// operators are programs that run a kind of jobs, each with what it needs beside it, by name. Those whose package is below
// "./" have a main of ours, which says why.
var operators = map[string]set{
	"training-operator": operator("training-operator", "./training-operator", []manifest{
		// Not that of MPIJobs, which belongs to the MPI operator.
		{trainingOperator, "manifests/base/crds/kubeflow.org_[^m]*.yaml", "crds"},
		{trainingOperator, "manifests/base/webhook/manifests.yaml", "webhooks.yaml"},
	}),
	"mpi-operator": operator("mpi-operator", "./mpi-operator", []manifest{
		{mpiOperator, "manifests/base/kubeflow.org_mpijobs.yaml", "crds/mpijobs.yaml"},
	}),
	"kuberay": operator("kuberay", "./kuberay", []manifest{
		// Not that of RayCronJobs, which are off unless a feature gate says otherwise.
		{kuberay, "config/crd/bases/ray.io_rayclusters.yaml", "crds/rayclusters.yaml"},
		{kuberay, "config/crd/bases/ray.io_rayjobs.yaml", "crds/rayjobs.yaml"},
		{kuberay, "config/crd/bases/ray.io_rayservices.yaml", "crds/rayservices.yaml"},
	}),
	"trainer": operator("trainer", trainer+"/cmd/trainer-controller-manager", []manifest{
		{trainer, "manifests/base/crds/trainer.kubeflow.org_*.yaml", "crds"},
		{trainer, "manifests/base/webhook/manifests.yaml", "webhooks.yaml"},
		{trainer, "manifests/base/runtimes/*_distributed.yaml", "defaults"},
	}),
	"lws": operator("lws", lws+"/cmd", []manifest{
		{lws, "config/crd/bases/*.yaml", "crds"},
		{lws, "config/webhook/manifests.yaml", "webhooks.yaml"},
	}),
	"appwrapper": operator("appwrapper", "./appwrapper", []manifest{
		{appwrapper, "config/crd/bases/*.yaml", "crds"},
		{appwrapper, "config/webhook/manifests.yaml", "webhooks.yaml"},
	}),
	"spark-operator": operator("spark-operator", "./spark-operator", []manifest{
		{sparkOperator, "config/crd/bases/*.yaml", "crds"},
	}, program{"spark-submit", "./spark-submit", ""}),
	"tekton": operator("tekton", "./tekton", []manifest{
		// Those of what it watches. Tasks and Pipelines of their own are read only where a run refers to them.
		{tekton, "config/300-crds/300-*run.yaml", "crds"},
		{tekton, "config/300-crds/300-resolutionrequest.yaml", "crds/resolutionrequests.yaml"},
		{tekton, "config/300-crds/300-verificationpolicy.yaml", "crds/verificationpolicies.yaml"},
		{tekton, "config/100-namespace/100-namespace.yaml", "needs/0-namespace.yaml"},
		{tekton, "config/config-*.yaml", "needs"},
		{ours, "tekton/webhooks.yaml", "webhooks.yaml"},
	}),
}

// operator is the set of an operator whose program has its name, with the programs that it calls.
func operator(name, pkg string, beside []manifest, calls ...program) set {
	return set{
		dir:       "operators/" + name,
		module:    "operators",
		programs:  append([]program{{name, pkg, ""}}, calls...),
		manifests: beside,
		lasts:     "about 3 minutes for the first of them, and for tekton; less than one for the others",
	}
}

func operatorNames() []string { return slices.Sorted(maps.Keys(operators)) }
