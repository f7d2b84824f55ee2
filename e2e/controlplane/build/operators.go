package main

import (
	"maps"
	"slices"
)

// operators are programs that run a kind of jobs, each with what it needs beside it, by name.
var operators = map[string]set{
	"training-operator": operator("training-operator", "./training-operator", []manifest{
		// Not that of MPIJobs, which belongs to the MPI operator.
		{trainingOperator, "manifests/base/crds/kubeflow.org_[^m]*.yaml", "crds"},
		{trainingOperator, "manifests/base/webhook/manifests.yaml", "webhooks.yaml"},
	}),
}

const trainingOperator = "github.com/kubeflow/training-operator"

// operator is the set of an operator whose program has its name.
func operator(name, pkg string, beside []manifest) set {
	return set{
		dir:       "operators/" + name,
		module:    "operators",
		programs:  []program{{name, pkg, ""}},
		manifests: beside,
		lasts:     "some minutes for the first of them",
	}
}

func operatorNames() []string { return slices.Sorted(maps.Keys(operators)) }
