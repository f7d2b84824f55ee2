package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

func newVersion(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Show the versions of switchctl, of the hub's Kubernetes and of the program there", Args: cobra.NoArgs,
	}
	only := c.Flags().Bool("client", false, "Show that of switchctl only")
	c.RunE = a.RunE(func(ctx context.Context, _ []string) error {
		a.Printf("Client Version: %s", clientVersion())
		if *only {
			return nil
		}
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		server, err := hub.Kube.Discovery().ServerVersion()
		if err != nil {
			return fmt.Errorf("ask the hub for its version: %w", err)
		}
		a.Printf("Kubernetes Version: %s", server.GitVersion)
		images, err := managerImages(ctx, a, hub)
		if exit.Code(err) == exit.Denied {
			a.Warnf("you may not see the program's image in namespace %s", a.SystemNamespace)
			return nil
		}
		if err != nil {
			return err
		}
		for _, image := range images {
			a.Printf("Manager Image: %s", image)
		}
		if len(images) == 0 {
			a.Warnf("there is no deployment of Switchyard or Kueue in namespace %s: see --system-namespace", a.SystemNamespace)
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
func managerImages(ctx context.Context, a *cli.App, hub *kubeclient.Client) ([]string, error) {
	var found appsv1.DeploymentList
	if err := hub.List(ctx, &found, client.InNamespace(a.SystemNamespace)); err != nil {
		return nil, fmt.Errorf("list the deployments of namespace %s: %w", a.SystemNamespace, err)
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
