package integration

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// otherHub describes a hub program that takes the place of the suite's for a spec.
type otherHub struct {
	name string
	// server is where it finds the hub's API server, "" the usual way.
	server string
	// configuration is laid over the suite's.
	configuration map[string]any
}

// prepare writes the files of a hub program.
func (o otherHub) prepare() *installation.Program {
	GinkgoHelper()
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	program, err := installation.Prepare(installation.Options{
		Cluster: hub.Cluster, Binary: filepath.Join(root, "bin", "hub"), Name: o.name, Server: o.server,
		Configuration: o.configuration,
	})
	Expect(err).NotTo(HaveOccurred())
	return program
}

// runAlone is a configuration for a hub that runs alone and need not wait for another program's lease, be it that of the
// program it takes the place of, or its own from before it was killed.
func runAlone(multiKueue map[string]any) map[string]any {
	all := configuration(multiKueue)
	all["leaderElection"] = map[string]any{"leaderElect": false}
	return all
}

// takeOver stops the suite's hub program and starts the other one. After the spec it is the other way round.
func (o otherHub) takeOver(ctx context.Context) *installation.Program {
	GinkgoHelper()
	other, usual := o.prepare(), hub.Program
	Expect(usual.Stop()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(other.Stop()).To(Succeed())
		hub.Program = usual
		Expect(usual.Start(ctx)).To(Succeed())
	})
	hub.Program = other
	Expect(other.Start(ctx)).To(Succeed())
	return other
}
