package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"switchyard.dev/e2e/installation"
)

// hints is what to try while the clusters stay up.
func hints(stage *installation.Stage) string {
	var b strings.Builder
	b.WriteString("\nThe clusters stay up until Ctrl-C. Administrator kubeconfigs:\n")
	for _, site := range stage.Sites() {
		fmt.Fprintf(&b, "  %s\n", kubeconfig(site))
	}
	hub := fmt.Sprintf("%s --kubeconfig %s", stage.Hub.Kubectl(), kubeconfig(stage.Hub))
	w1 := fmt.Sprintf("%s --kubeconfig %s", stage.Hub.Kubectl(), kubeconfig(stage.Workers[0]))
	b.WriteString("Try:\n")
	fmt.Fprintf(&b, "  %s create -f config/samples/jobs/job.yaml\n", hub)
	fmt.Fprintf(&b, "  %s get workloads,jobs,jobsets -A\n", hub)
	fmt.Fprintf(&b, "  %s get clusterqueues,pods -A --watch\n", w1)
	return b.String()
}

func kubeconfig(site *installation.Site) string { return filepath.Join(site.Dir, "admin.kubeconfig") }
