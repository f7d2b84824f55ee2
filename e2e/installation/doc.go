// Package installation puts Switchyard onto clusters of this machine, for the sandbox and for tests: CRDs, webhooks and
// certificates, the hub's and the workers' programs as processes that can be killed and started again, and workers
// registered at the hub by kubeconfig Secrets as a user would do it.
package installation
