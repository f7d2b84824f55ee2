// Command appwrapper runs the controllers and webhooks of the AppWrapper operator. The operator's own main program serves
// webhooks on a fixed port, with certificates in a fixed directory.
package main

import (
	"errors"
	"fmt"
	"os"

	appwrapper "github.com/project-codeflare/appwrapper/api/v1beta2"
	"github.com/project-codeflare/appwrapper/pkg/config"
	"github.com/project-codeflare/appwrapper/pkg/controller"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/e2e/controlplane/operators/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "appwrapper:", err)
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgo.AddToScheme(scheme), appwrapper.AddToScheme(scheme)); err != nil {
		return err
	}
	return manager.Run(scheme, true, add)
}

func add(mgr ctrl.Manager) error {
	settings := config.NewAppWrapperConfig()
	return errors.Join(controller.SetupWebhooks(mgr, settings), controller.SetupControllers(mgr, settings))
}
