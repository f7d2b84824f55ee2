// Command tekton runs the controllers of Tekton Pipelines, and serves what its admission webhook does with PipelineRuns. The
// operator's own main programs serve health on a fixed port, and make certificates and webhook configurations of their own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipelinerun"
	"github.com/tektoncd/pipeline/pkg/reconciler/resolutionrequest"
	"github.com/tektoncd/pipeline/pkg/reconciler/taskrun"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	filtered "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/observability"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/e2e/controlplane/operators/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tekton:", err)
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return err
	}
	return manager.Run(scheme, true, func(mgr ctrl.Manager) error {
		return errors.Join(serveAdmission(mgr), mgr.Add(ctrl.RunnableFunc(func(ctx context.Context) error {
			control(ctx, mgr)
			return nil
		})))
	})
}

// control runs the controllers until the context ends. It ends the process if it cannot start them.
func control(ctx context.Context, mgr ctrl.Manager) {
	ctx = injection.WithNamespaceScope(ctx, "")
	ctx = sharedmain.WithHADisabled(ctx)
	ctx = sharedmain.WithHealthProbesDisabled(ctx)
	ctx = observability.WithConfig(ctx, observability.DefaultConfig()) // without metrics
	ctx = filtered.WithSelectors(ctx, v1beta1.ManagedByLabelKey)
	images := pipeline.Images{
		EntrypointImage: "entrypoint", SidecarLogResultsImage: "sidecarlogresults", NopImage: "nop", ShellImage: "shell", ShellImageWin: "shell-win",
		WorkingDirInitImage: "workingdirinit",
	}
	o, now := &pipeline.Options{Images: images}, clock.RealClock{}
	sharedmain.MainWithConfig(ctx, "tekton-pipelines-controller", mgr.GetConfig(),
		taskrun.NewController(o, now), pipelinerun.NewController(o, now), resolutionrequest.NewController(now))
}
