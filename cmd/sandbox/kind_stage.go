package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/job/all"
)

// Each worker has operators of its own, so that most kinds run on one of them only.
var (
	operatorsOfW1 = []clusters.Operator{clusters.Trainer, clusters.TrainingOperator, clusters.MPIOperator, clusters.Tekton}
	operatorsOfW2 = []clusters.Operator{clusters.JobSet, clusters.KubeRay, clusters.AppWrapper, clusters.LeaderWorkerSet}
)

// servedTimeout is how long the programs may take to look after a kind that is declared to them.
const servedTimeout = time.Minute

// withAllKinds enables every kind that a hub can dispatch, with its operator on one of the workers.
func withAllKinds(o *installation.StageOptions) {
	// The hub makes the pods of a LeaderWorkerSet, too: they show there how those on the worker do.
	o.Hub.Operators = []clusters.Operator{clusters.LeaderWorkerSet}
	o.Hub.OperatorCRDs = slices.Concat(operatorsOfW1, slices.DeleteFunc(slices.Clone(operatorsOfW2), func(each clusters.Operator) bool {
		return each == clusters.LeaderWorkerSet
	}))
	o.Workers[0].Operators, o.Workers[1].Operators = operatorsOfW1, operatorsOfW2
	o.Kinds = append(installation.MirrorableKinds(), all.Mirrored()...)
	var names []any
	for _, kind := range installation.MirrorableKinds() {
		names = append(names, kind.Name())
	}
	for _, framework := range all.Frameworks() {
		names = append(names, framework.Name())
	}
	o.Configuration = maps.Clone(o.Configuration)
	o.Configuration["integrations"] = map[string]any{
		"frameworks":         names,
		"externalFrameworks": []any{"TaskRun.v1.tekton.dev"}, // PipelineRuns are queued as a whole
	}
}

// declareKinds declares PipelineRuns on the hub and on the worker that runs them, as config/samples/jobkinds/README.md says.
func declareKinds(ctx context.Context, stage *installation.Stage) error {
	w1 := stage.Workers[0]
	if err := applyAll(ctx, w1, "jobkinds/hub-access.yaml"); err != nil {
		return err
	}
	users := map[*installation.Site]string{w1: "switchyard-worker", stage.Hub: "switchyard-hub"}
	for site, user := range users {
		if err := grantDeclaredKinds(ctx, site, user); err != nil {
			return err
		}
		if err := applyAll(ctx, site, "jobkinds/program.yaml", "jobkinds/role.yaml", "jobkinds/pipelinerun.yaml"); err != nil {
			return err
		}
	}
	for site := range users {
		if err := waitServed(ctx, site, "pipelineruns.tekton.dev"); err != nil {
			return err
		}
	}
	return nil
}

// grantDeclaredKinds gives the program its rights on declared kinds: it runs outside of its cluster, by a user and not by the account that
// the sample names.
func grantDeclaredKinds(ctx context.Context, site *installation.Site, user string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sandbox-declared-kinds"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "switchyard-example-kinds"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := site.Create(ctx, binding); err != nil {
		return fmt.Errorf("grant declared kinds on %s: %w", site.Name, err)
	}
	return nil
}

// waitServed returns when jobs of a declared kind are looked after.
func waitServed(ctx context.Context, site *installation.Site, name string) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	declared := &switchyard.JobKind{}
	for {
		if err := site.Get(ctx, client.ObjectKey{Name: name}, declared); err != nil && ctx.Err() == nil {
			return fmt.Errorf("read JobKind %s of %s: %w", name, site.Name, err)
		}
		if meta.IsStatusConditionTrue(declared.Status.Conditions, switchyard.JobKindServing) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("JobKind %s of %s is not served: %w; its conditions: %+v", name, site.Name, ctx.Err(), declared.Status.Conditions)
		}
	}
}

// kindSamples are the files of config/samples with a job of each kind.
func kindSamples() []string {
	var files []string
	for _, kind := range installation.MirrorableKinds() {
		file := strings.ToLower(kind.GVK().Kind) + ".yaml"
		if file == "job.yaml" || file == "jobset.yaml" {
			files = append(files, "jobs/"+file)
		} else {
			files = append(files, "kinds/"+file)
		}
	}
	return append(files, "pods/podgroup.yaml", "pods/deployment.yaml", "pods/statefulset.yaml", "pods/leaderworkerset.yaml", "pods/pipelinerun.yaml")
}

// newKindRun reads a sample.
func newKindRun(file string) (*kindRun, error) {
	objects, err := samples.Objects(file)
	if err != nil {
		return nil, err
	}
	job := objects[len(objects)-1]
	run := &kindRun{kind: job.GetKind(), name: job.GetName(), objects: objects[len(objects)-1:], ran: map[string]bool{}}
	switch run.kind {
	case "Pod":
		run.kind, run.name, run.objects = "pod group", job.GetLabels()[kueue.PodGroupNameKey], objects
	case "RayCluster", "RayService", "Deployment", "StatefulSet", "LeaderWorkerSet":
		run.serves = true
	}
	return run, nil
}
