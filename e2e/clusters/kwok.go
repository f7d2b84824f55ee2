package clusters

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"time"
)

// kwokConfig says how nodes and pods live: see the comments in the file.
//
//go:embed kwok.yaml
var kwokConfig []byte

// containers says what containers do: all have one log, commands run on this machine, and every port is this one.
const containers = `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata:
  name: all
spec:
  logs:
  - logsFile: %[1]q
    previousLogsFile: %[1]q
    follow: true
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata:
  name: all
spec:
  execs:
  - local:
      workDir: %[2]q
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterAttach
metadata:
  name: all
spec:
  attaches:
  - logsFile: %[1]q
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata:
  name: all
spec:
  forwards:
  - target:
      address: 127.0.0.1
      port: %[3]d
`

// containerLog is the name of the log of all containers.
const containerLog = "containers.log"

// WriteLog adds a line to the log of all containers of the cluster.
func (c *Cluster) WriteLog(line string) error {
	f, err := os.OpenFile(c.file(containerLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of containers: %w", err)
	}
	defer f.Close()
	// As container runtimes write it.
	if _, err := fmt.Fprintf(f, "%s stdout F %s\n", time.Now().Format(time.RFC3339Nano), line); err != nil {
		return fmt.Errorf("log of containers: %w", err)
	}
	return nil
}

func (c *Cluster) startKwok() error {
	if err := c.WriteLog("a container of cluster " + c.Name); err != nil {
		return err
	}
	// Whatever port of a pod is forwarded leads to etcd, which says that it is healthy.
	config := fmt.Appendf(slices.Clone(kwokConfig), containers, c.file(containerLog), c.Dir, c.etcdPort.Number)
	if err := os.WriteFile(c.file("kwok.yaml"), config, 0o600); err != nil {
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
		"--server-address="+c.kubeletPort.Addr(),
		"--tls-cert-file="+c.file("apiserver.crt"),
		"--tls-private-key-file="+c.file("apiserver.key"),
	)
	return err
}
