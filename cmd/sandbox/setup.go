package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// worker clusters as config/samples describes them.
func workerOptions() []clusters.Options {
	return []clusters.Options{
		{Name: "w1", Operators: []clusters.Operator{clusters.JobSet}, Nodes: []clusters.NodePool{
			{Name: "h100", Count: 2, GPUClass: "H100", GPUs: 8},
			{Name: "l4", Count: 2, GPUClass: "L4", GPUs: 4},
		}},
		{Name: "w2", Operators: []clusters.Operator{clusters.JobSet}, Nodes: []clusters.NodePool{
			{Name: "a100", Count: 2, GPUClass: "A100", GPUs: 8},
		}},
	}
}

// startStage starts everything up to the point where jobs can be submitted. What it has started when it fails is stopped.
func startStage(ctx context.Context, o options, dir string, out io.Writer) (*installation.Stage, error) {
	programs, err := findPrograms(ctx, o.programs, dir, out)
	if err != nil {
		return nil, err
	}
	binaries, err := clusters.FindBinaries(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	fmt.Fprintln(out, "starting cluster hub, and workers w1 (16 H100, 8 L4) and w2 (16 A100), with Switchyard's programs beside them")
	stageOptions := installation.StageOptions{
		Hub:      clusters.Options{Name: "hub", Controllers: true, Operators: []clusters.Operator{clusters.JobSet}},
		Workers:  workerOptions(),
		Programs: programs,
		// Leases last as long as this machine may be busy with something else: no other replica waits to take over here.
		Configuration: map[string]any{"leaderElection": map[string]any{
			"leaderElect": true, "leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "5s",
		}},
	}
	if o.kinds {
		withAllKinds(&stageOptions)
	}
	for _, each := range append([]*clusters.Options{&stageOptions.Hub}, pointers(stageOptions.Workers)...) {
		each.Dir, each.Binaries = dir, binaries
	}
	stage, err := installation.StartStage(ctx, stageOptions)
	if err != nil {
		return nil, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, site := range stage.Sites() {
		group.Go(func() error { return installation.Aggregate(groupCtx, site.Cluster, site.Program) })
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, stage.Stop())
	}
	for _, worker := range stage.Workers {
		if err := installation.GrantAccess(ctx, stage.Hub.Cluster, worker.Cluster, workeraccess.LevelExec, ""); err != nil {
			return nil, errors.Join(err, stage.Stop())
		}
	}
	fmt.Fprintf(out, "clusters and programs are up, the workers registered and connected: %.1f s\n", time.Since(began).Seconds())
	if err := applySamples(ctx, stage); err != nil {
		return nil, errors.Join(err, stage.Stop())
	}
	fmt.Fprintln(out, "queues, flavors, cohort, priorities and admission check are as in config/samples")
	return stage, nil
}

func pointers[T any](all []T) []*T {
	var out []*T
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

func applySamples(ctx context.Context, stage *installation.Stage) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return applyAll(groupCtx, stage.Hub, "hub") })
	for _, worker := range stage.Workers {
		group.Go(func() error {
			return applyAll(groupCtx, worker, "workers/"+worker.Name+".yaml", "workers/queues.yaml")
		})
	}
	return group.Wait()
}

func applyAll(ctx context.Context, site *installation.Site, names ...string) error {
	objects, err := samples.Objects(names...)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := apply(ctx, site, object); err != nil {
			return fmt.Errorf("applying %s %s on %s: %w", object.GetKind(), object.GetName(), site.Name, err)
		}
	}
	return nil
}

// apply is kubectl apply --server-side.
func apply(ctx context.Context, site *installation.Site, object *unstructured.Unstructured) error {
	return site.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("sandbox"), client.ForceOwnership)
}
