// Package kubeconfig reads kubeconfigs of workers, and refuses those whose connection would not be safe.
package kubeconfig

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ErrInsecure marks credentials that a rule forbids (contract: multikueue.md 2, "Kubeconfig security rules").
var ErrInsecure = errors.New("insecure kubeconfig")

type insecureError struct{ message string }

func (e insecureError) Error() string   { return e.message }
func (e insecureError) Is(t error) bool { return t == ErrInsecure }

func newInsecureError(format string, args ...any) error {
	return insecureError{message: fmt.Sprintf(format, args...)}
}

// Parse turns a kubeconfig into a connection configuration, or says in words for the user which rule it
// breaks; errors.Is(err, ErrInsecure) then holds. Everything a connection needs must be inside the file, so that a
// kubeconfig can neither read a file of the hub, nor run a program there, nor send its traffic elsewhere.
func Parse(raw []byte) (*rest.Config, error) {
	config, err := clientcmd.Load(raw)
	if err != nil {
		return nil, newInsecureError("failed to parse kubeconfig(apiconfig): %v", err)
	}
	if err := checkUsers(config); err != nil {
		return nil, err
	}
	if err := checkClusters(config); err != nil {
		return nil, err
	}
	built, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("build a connection from the kubeconfig: %w", err)
	}
	return built, CheckRESTConfig(built)
}

func checkUsers(config *clientcmdapi.Config) error {
	for _, name := range slices.Sorted(maps.Keys(config.AuthInfos)) {
		if err := checkUser(name, config.AuthInfos[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkUser(name string, user *clientcmdapi.AuthInfo) error {
	switch {
	case user.TokenFile != "":
		return newInsecureError("tokenFile is not allowed")
	case user.ClientCertificate != "":
		return newInsecureError("client-certificate file paths are not allowed, use client-certificate-data for user %s", name)
	case user.ClientKey != "":
		return newInsecureError("client-key file paths are not allowed, use client-key-data for user %s", name)
	case user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0:
		return newInsecureError("impersonation is not allowed for user %s", name)
	case user.Username != "" || user.Password != "":
		return newInsecureError("basic auth is not allowed")
	case user.Exec != nil:
		return newInsecureError("exec plugins are not allowed")
	case user.AuthProvider != nil:
		return newInsecureError("auth providers are not allowed")
	}
	return nil
}

func checkClusters(config *clientcmdapi.Config) error {
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		if err := CheckCluster(name, config.Clusters[name]); err != nil {
			return err
		}
	}
	return nil
}

// CheckCluster applies the rules for what is said about a cluster, in a kubeconfig or elsewhere.
func CheckCluster(name string, cluster *clientcmdapi.Cluster) error {
	switch {
	case cluster.InsecureSkipTLSVerify:
		return newInsecureError("insecure TLS verification is not allowed for cluster %s", name)
	case cluster.CertificateAuthority != "":
		return newInsecureError("certificate-authority file paths are not allowed, use certificate-authority-data for cluster %s", name)
	case cluster.Server == "":
		return newInsecureError("server URL is required for cluster %s", name)
	case cluster.ProxyURL != "":
		return newInsecureError("proxy-url is not allowed for cluster %s", name)
	case !strings.HasPrefix(strings.ToLower(cluster.Server), "https://"):
		return newInsecureError("server URL must use https for cluster %s", name)
	}
	return nil
}

// CheckRESTConfig applies the rules for a connection configuration of whatever origin.
func CheckRESTConfig(config *rest.Config) error {
	if err := CheckProfileConfig(config); err != nil {
		return err
	}
	if config.ExecProvider != nil {
		return newInsecureError("exec plugins are not allowed")
	}
	return nil
}

// CheckProfileConfig is CheckRESTConfig for a connection that a cluster profile gives: only there a program may be run for
// credentials, because it is the hub's configuration that names it.
func CheckProfileConfig(config *rest.Config) error {
	switch {
	case config.BearerTokenFile != "":
		return newInsecureError("bearerTokenFile is not allowed")
	case !isTrustedHost(config.Host):
		return newInsecureError("untrusted server endpoint")
	case config.Username != "" || config.Password != "":
		return newInsecureError("basic auth is not allowed")
	case config.AuthProvider != nil:
		return newInsecureError("auth providers are not allowed")
	case config.Insecure:
		return newInsecureError("insecure TLS verification is not allowed")
	case config.CAFile != "" || config.CertFile != "" || config.KeyFile != "":
		return newInsecureError("file paths are not allowed")
	case !reflect.DeepEqual(config.Impersonate, rest.ImpersonationConfig{}):
		return newInsecureError("impersonation is not allowed")
	}
	return nil
}

func isTrustedHost(server string) bool {
	u, err := url.Parse(server)
	if err != nil || u.User != nil {
		return false
	}
	host := u.Hostname()
	return net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(strings.ToLower(host))) == 0
}
