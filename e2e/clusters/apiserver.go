package clusters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Address is where the API server listens, "127.0.0.1:port".
func (c *Cluster) Address() string { return c.apiPort.Addr() }

// ServingCertificate is one that the cluster's clients accept on loopback, for a proxy that ends TLS.
func (c *Cluster) ServingCertificate() (tls.Certificate, error) {
	pair, err := c.ca.server("proxy")
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of a proxy of %s: %w", c.Name, err)
	}
	return certificate, nil
}

// etcdData is the name of etcd's directory.
const etcdData = "etcd"

// startEtcd starts an etcd that never syncs to disk: its data need not survive this machine.
func (c *Cluster) startEtcd(ctx context.Context) error {
	client, peer := "http://"+c.etcdPort.Addr(), "http://"+c.peerPort.Addr()
	process, err := c.run("etcd",
		"--name="+c.Name,
		"--data-dir="+c.file(etcdData),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+c.Name+"="+peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	if err != nil {
		return err
	}
	return c.waitForEtcd(ctx, process)
}

func (c *Cluster) waitForEtcd(ctx context.Context, process *Process) error {
	return waitFor(ctx, process, "connections", func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", c.etcdPort.Addr())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (c *Cluster) writeAPIServerFiles() error {
	serving, err := c.ca.server("kubernetes.default.svc")
	if err != nil {
		return err
	}
	proxy, err := c.ca.client("front-proxy", nil)
	if err != nil {
		return err
	}
	private, public, err := newSigningKey()
	if err != nil {
		return err
	}
	return errors.Join(
		serving.write(c.Dir, "apiserver"),
		proxy.write(c.Dir, "front-proxy"),
		os.WriteFile(c.file("ca.crt"), c.ca.pem, 0o600),
		os.WriteFile(c.file("tokens.key"), private, 0o600),
		os.WriteFile(c.file("tokens.pub"), public, 0o600),
		os.WriteFile(c.file("audit-policy.yaml"), []byte(auditPolicy(c.options.CountReadsOf)), 0o600),
	)
}

// disabledAdmission are the plugins that would need a component which is not run here, or that add
// what pods without containers have no use for:
//   - TaintNodesByCondition taints new nodes and leaves it to the node lifecycle controller to take
//     the taint away;
//   - ServiceAccount refuses pods until a controller has made the namespace's default account, and
//     mounts a token into every pod.
const disabledAdmission = "TaintNodesByCondition,ServiceAccount,DefaultStorageClass,StorageObjectInUseProtection"

func (c *Cluster) apiServerArgs() []string {
	return []string{
		"--etcd-servers=http://" + c.etcdPort.Addr(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.apiPort.Number),
		"--cert-dir=" + c.Dir,
		"--client-ca-file=" + c.file("ca.crt"),
		"--tls-cert-file=" + c.file("apiserver.crt"),
		"--tls-private-key-file=" + c.file("apiserver.key"),
		"--requestheader-client-ca-file=" + c.file("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.file("front-proxy.crt"),
		"--proxy-client-key-file=" + c.file("front-proxy.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.file("tokens.key"),
		"--service-account-key-file=" + c.file("tokens.pub"),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC",
		"--allow-privileged",
		"--disable-admission-plugins=" + disabledAdmission,
		// Not on by default, but on many clusters: to make a dependent that blocks its owner's deletion needs a right to do
		// so.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		// Every caller is on this machine: fair queueing among them would only cost CPU.
		"--enable-priority-and-fairness=false",
		"--profiling=false",
		"--audit-policy-file=" + c.file("audit-policy.yaml"),
		"--audit-log-path=" + c.path,
		// Not rotated: the counts need all of it.
		"--audit-log-maxsize=0",
	}
}

// StartAPIServer starts the API server, on the same port and data as before if it was stopped, and
// returns when it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if c.apiserver != nil {
		return fmt.Errorf("the API server of %s has been started already", c.Name)
	}
	if err := c.repair(); err != nil {
		return err
	}
	process, err := StartProcess(Command{
		Name: c.Name + "/kube-apiserver",
		Path: c.options.Binaries.Program("kube-apiserver"),
		Args: c.apiServerArgs(),
		Log:  c.file("kube-apiserver.log"),
	})
	if err != nil {
		return err
	}
	c.apiserver = process
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	return waitFor(ctx, process, "readiness", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// StopAPIServer kills the API server with SIGKILL, as a crash would; connections to its port are
// refused until StartAPIServer.
func (c *Cluster) StopAPIServer() error {
	if c.apiserver == nil {
		return fmt.Errorf("the API server of %s is not running", c.Name)
	}
	process := c.apiserver
	c.apiserver = nil
	return process.Kill()
}

// PauseAPIServer stops the API server in its tracks (SIGSTOP): connections stay open and are accepted,
// but nothing is answered, until ResumeAPIServer.
func (c *Cluster) PauseAPIServer() error { return c.signalAPIServer(syscall.SIGSTOP) }

// ResumeAPIServer lets a paused API server go on.
func (c *Cluster) ResumeAPIServer() error { return c.signalAPIServer(syscall.SIGCONT) }

func (c *Cluster) signalAPIServer(sig syscall.Signal) error {
	if c.apiserver == nil {
		return fmt.Errorf("the API server of %s is not running", c.Name)
	}
	return c.apiserver.Signal(sig)
}

func (c *Cluster) makeAdmin() error {
	data, err := c.UserKubeconfig("admin", mastersGroup)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.file("admin.kubeconfig"), data, 0o600); err != nil {
		return fmt.Errorf("kubeconfig of the administrator: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		return fmt.Errorf("kubeconfig of the administrator: %w", err)
	}
	config.QPS = -1
	c.Config = config
	return nil
}

// waitForDefaultNamespace: the API server makes it in the background, after it is ready.
func (c *Cluster) waitForDefaultNamespace(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	return waitFor(ctx, c.apiserver, "namespace default", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}
