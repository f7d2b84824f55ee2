// Command mpi-operator runs the controller of the MPI operator. The operator's own main program serves its health on a
// fixed port and always elects a leader.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	kubeflow "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	mpi "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	mpischeme "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	mpiinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/e2e/controlplane/operators/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mpi-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	// Events about MPIJobs are written with client-go's scheme.
	if err := mpischeme.AddToScheme(clientgo.Scheme); err != nil {
		return err
	}
	return manager.Run(runtime.NewScheme(), false, func(mgr ctrl.Manager) error {
		return mgr.Add(ctrl.RunnableFunc(func(ctx context.Context) error { return control(ctx, mgr) }))
	})
}

func control(ctx context.Context, mgr ctrl.Manager) error {
	client, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	jobs, err := mpi.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client of %s: %w", kubeflow.Kind, err)
	}
	common, own := informers.NewSharedInformerFactory(client, 0), mpiinformers.NewSharedInformerFactory(jobs, 0)
	c, err := controller.NewMPIJobController(ctx, client, jobs, nil, nil,
		common.Core().V1().ConfigMaps(), common.Core().V1().Secrets(), common.Core().V1().Services(),
		common.Batch().V1().Jobs(), common.Core().V1().Pods(), common.Scheduling().V1().PriorityClasses(),
		own.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{ControllerRateLimit: 10, ControllerBurst: 100})
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	common.Start(ctx.Done())
	own.Start(ctx.Done())
	const threads = 2
	return c.Run(threads, ctx.Done())
}
