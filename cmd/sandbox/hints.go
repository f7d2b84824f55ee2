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
	b.WriteString("\nThe clusters stay up until Ctrl-C. Kubeconfigs of their administrators:\n")
	for _, site := range stage.Sites() {
		fmt.Fprintf(&b, "  export %s=%s\n", strings.ToUpper(site.Name), kubeconfig(site))
	}
	fmt.Fprintf(&b, "Try, with those variables set (a kubectl is at %s):\n", stage.Hub.Kubectl())
	b.WriteString("  kubectl --kubeconfig $HUB create -f config/samples/jobs/\n")
	b.WriteString("  kubectl --kubeconfig $HUB get workloads,jobs,jobsets --all-namespaces\n")
	b.WriteString("  kubectl --kubeconfig $W1 get pods --all-namespaces --output wide --watch\n")
	b.WriteString("  kubectl --kubeconfig $HUB get --raw /apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/vision/pendingworkloads\n")
	b.WriteString("  bin/switchctl --kubeconfig $HUB access kubeconfig -n vision > fleet.yaml && kubectl --kubeconfig fleet.yaml get pods\n")
	return b.String()
}

func kubeconfig(site *installation.Site) string { return filepath.Join(site.Dir, "admin.kubeconfig") }
