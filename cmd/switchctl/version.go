package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (a *app) newVersion() *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Show the versions of switchctl, of the hub's Kubernetes and of the program there", Args: cobra.NoArgs,
	}
	only := c.Flags().Bool("client", false, "Show that of switchctl only")
	c.RunE = a.runE(func(ctx context.Context, _ []string) error {
		a.printf("Client Version: %s", clientVersion())
		if *only {
			return nil
		}
		hub, err := a.sites.hub()
		if err != nil {
			return err
		}
		server, err := hub.kube.Discovery().ServerVersion()
		if err != nil {
			return fmt.Errorf("ask the hub for its version: %w", err)
		}
		a.printf("Kubernetes Version: %s", server.GitVersion)
		images, err := a.managerImages(ctx, hub)
		if exitCode(err) == exitDenied {
			a.warnf("you may not see the program's image in namespace %s", a.system)
			return nil
		}
		if err != nil {
			return err
		}
		for _, image := range images {
			a.printf("Manager Image: %s", image)
		}
		if len(images) == 0 {
			a.warnf("there is no deployment of Switchyard or Kueue in namespace %s: see --system-namespace", a.system)
		}
		return nil
	})
	return c
}

// clientVersion is what the build says of itself.
func clientVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " (" + s.Value + ")"
		}
	}
	return text + " " + info.GoVersion
}

// managerImages are those of the programs in the hub's system namespace, sorted.
func (a *app) managerImages(ctx context.Context, hub *kubeClient) ([]string, error) {
	var found appsv1.DeploymentList
	if err := hub.List(ctx, &found, client.InNamespace(a.system)); err != nil {
		return nil, fmt.Errorf("list the deployments of namespace %s: %w", a.system, err)
	}
	var images []string
	for i := range found.Items {
		d := &found.Items[i]
		name := d.Labels["app.kubernetes.io/name"]
		if name != "switchyard" && name != "kueue" {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			images = append(images, c.Image)
		}
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}
