package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// mastersGroup is the group that RBAC never denies anything.
const mastersGroup = "system:masters"

// UserKubeconfig makes a kubeconfig by which the API server knows its bearer as the user, member of
// the groups (group "system:masters" may do everything). The user needs no object in the cluster;
// bind roles to its name or groups.
func (c *Cluster) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	pair, err := c.ca.client(user, groups)
	if err != nil {
		return nil, err
	}
	return c.kubeconfig(user, &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key})
}

// UserKubeconfigFile is UserKubeconfig written to a file of the run directory, whose path it returns.
func (c *Cluster) UserKubeconfigFile(user string, groups ...string) (string, error) {
	data, err := c.UserKubeconfig(user, groups...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, user+".kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return path, nil
}

// ServiceAccount is a service account and all it may do, cluster-wide.
type ServiceAccount struct {
	Namespace, Name string
	Rules           []rbacv1.PolicyRule
	// TokenLife is how long the token is valid (0 means a day; the API server's minimum is ten minutes).
	TokenLife time.Duration
}

// ServiceAccountKubeconfig makes the namespace and service account if missing, a ClusterRole and binding named
// <namespace>-<name> with exactly the rules, and a kubeconfig with a token of it: what a user does to register this cluster
// as a worker of a hub.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, sa ServiceAccount) ([]byte, error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", c.Name, err)
	}
	if err := grant(ctx, client, sa); err != nil {
		return nil, fmt.Errorf("service account %s/%s on %s: %w", sa.Namespace, sa.Name, c.Name, err)
	}
	life := sa.TokenLife
	if life == 0 {
		life = 24 * time.Hour
	}
	seconds := int64(life / time.Second)
	token, err := client.CoreV1().ServiceAccounts(sa.Namespace).CreateToken(ctx, sa.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token for service account %s/%s on %s: %w", sa.Namespace, sa.Name, c.Name, err)
	}
	return c.kubeconfig(sa.Name, &clientcmdapi.AuthInfo{Token: token.Status.Token})
}

// grant replaces the rules of a role that exists already, so that a test may take rights away.
func grant(ctx context.Context, client kubernetes.Interface, sa ServiceAccount) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sa.Namespace}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err := ignoreExists(err); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: sa.Name}}
	_, err = client.CoreV1().ServiceAccounts(sa.Namespace).Create(ctx, account, metav1.CreateOptions{})
	if err := ignoreExists(err); err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: sa.Namespace + "-" + sa.Name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: sa.Rules}
	_, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: sa.Namespace, Name: sa.Name}},
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return ignoreExists(err)
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// ThroughProxy is a kubeconfig that reaches its server at another address of this machine, "host:port": that of a proxy.
func ThroughProxy(kubeconfig []byte, address string) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig through %s: %w", address, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address
	}
	changed, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig through %s: %w", address, err)
	}
	return changed, nil
}

func (c *Cluster) kubeconfig(user string, auth *clientcmdapi.AuthInfo) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: "https://" + c.apiPort.Addr(), CertificateAuthorityData: c.ca.pem}
	config.AuthInfos[user] = auth
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s for %s: %w", user, c.Name, err)
	}
	return data, nil
}
