// Command kuberay runs the controllers of KubeRay. Its own main program needs an older controller-runtime than the other
// operators, for webhooks that its default installation does not have, and asks Ray's dashboards, which pods that only seem
// to run do not have; here the dashboards are played.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	config "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"

	"switchyard.dev/e2e/controlplane/operators/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kuberay:", err)
		os.Exit(1)
	}
}

func run() error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgo.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		return err
	}
	return manager.Run(scheme, false, add)
}

func add(mgr ctrl.Manager) error {
	ctx := context.Background()
	schedulers, err := batchscheduler.NewSchedulerManager(ctx, config.Configuration{}, mgr.GetConfig(), mgr.GetClient())
	if err != nil {
		return fmt.Errorf("schedulers: %w", err)
	}
	clusters := ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{BatchSchedulerManager: schedulers})
	jobs := ray.NewRayJobReconciler(ctx, mgr, ray.RayJobReconcilerOptions{BatchSchedulerManager: schedulers}, dashboards{})
	services := ray.NewRayServiceReconciler(ctx, mgr, dashboards{})
	const threads = config.DefaultReconcileConcurrency
	return errors.Join(
		clusters.SetupWithManager(mgr, threads),
		jobs.SetupWithManager(mgr, threads),
		services.SetupWithManager(mgr, threads),
	)
}
