package clusters

import (
	_ "embed"
	"fmt"
	"os"
)

// kwokConfig says how nodes and pods live: see the comments in the file.
//
//go:embed kwok.yaml
var kwokConfig []byte

func (c *Cluster) startKwok() error {
	if err := os.WriteFile(c.file("kwok.yaml"), kwokConfig, 0o600); err != nil {
		return fmt.Errorf("configuration of kwok: %w", err)
	}
	kubeconfig, err := c.UserKubeconfigFile("kwok", mastersGroup)
	if err != nil {
		return err
	}
	_, err = c.run("kwok",
		"--kubeconfig="+kubeconfig,
		"--config="+c.file("kwok.yaml"),
		"--manage-all-nodes",
		// Every node's address, and so every pod's: one for documentation, at which nothing is ever found. A pod without an address
		// is no endpoint of a service.
		"--node-ip=192.0.2.1",
		// Node leases are not watched here (the node lifecycle controller does not run).
		"--node-lease-duration-seconds=0",
	)
	return err
}
