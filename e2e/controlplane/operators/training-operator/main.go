// Command training-operator runs the controllers and webhooks of the Kubeflow training operator but for MPIJobs, whose CRD
// belongs to the MPI operator. The operator's own main program waits for certificates in a fixed directory.
package main

import (
	"errors"
	"fmt"
	"os"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/webhooks"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"switchyard.dev/e2e/controlplane/operators/manager"
)

var kinds = []string{
	kubeflow.TFJobKind, kubeflow.PyTorchJobKind, kubeflow.XGBoostJobKind, kubeflow.PaddleJobKind, kubeflow.JAXJobKind,
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "training-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgo.AddToScheme(scheme), kubeflow.AddToScheme(scheme), volcano.AddToScheme(scheme), schedulerplugins.AddToScheme(scheme))
	if err != nil {
		return err
	}
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	return manager.Run(scheme, true, add)
}

func add(mgr ctrl.Manager) error {
	for _, kind := range kinds {
		const threads = 1
		if err := controllers.SupportedSchemeReconciler[kind](mgr, common.GenNonGangSchedulerSetupFunc(), threads); err != nil {
			return fmt.Errorf("controller of %s: %w", kind, err)
		}
		if err := webhooks.SupportedSchemeWebhook[kind](mgr); err != nil {
			return fmt.Errorf("webhooks of %s: %w", kind, err)
		}
	}
	return nil
}
