package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	configapi "switchyard.dev/apis/config/v1beta2"
)

// ErrNoProvider says that the hub has no access provider at all (contract: multikueue.md 2, BadClusterProfile).
var ErrNoProvider = errors.New("no access provider configured")

// ErrBadConfig marks a connection that a rule forbids or that cannot be used (contract: multikueue.md 2, BadRestConfig).
var ErrBadConfig = errors.New("bad connection")

type badConfigError struct{ error }

func (badConfigError) Is(target error) bool { return target == ErrBadConfig }
func (b badConfigError) Unwrap() error      { return b.error }

// Credentials are those that the profile gives by the first of the providers that it knows. An error that is not an
// ErrBadConfig is one of the profile or of the provider. Neither profile nor providers are changed; no program is run and no
// call made.
func Credentials(p *inventory.ClusterProfile, providers []configapi.ClusterProfileAccessProvider) (fleet.Credentials, error) {
	if len(providers) == 0 {
		return fleet.Credentials{}, ErrNoProvider
	}
	chosen, cluster := chooseProvider(p, providers)
	config, err := buildCredentials(p, chosen, cluster)
	if err != nil {
		return fleet.Credentials{}, err
	}
	if err := completeConfig(config, p.Name, cluster); err != nil {
		return fleet.Credentials{}, badConfigError{err}
	}
	digest, err := fingerprint(chosen, cluster)
	if err != nil {
		return fleet.Credentials{}, err
	}
	transport, err := newTransport(config)
	if err != nil {
		return fleet.Credentials{}, badConfigError{err}
	}
	return fleet.Credentials{Config: &rest.Config{Host: config.Host, Transport: transport}, Fingerprint: digest}, nil
}

// chooseProvider returns the first provider that the profile knows and what it says about the cluster, as copies; nil if there is
// none. Of two statements about one provider, the one under the present name of the field counts.
func chooseProvider(p *inventory.ClusterProfile, providers []configapi.ClusterProfileAccessProvider) ([]access.Provider, *clientcmdv1.Cluster) {
	known := slices.Concat(p.Status.AccessProviders, p.Status.CredentialProviders)
	for i := range providers {
		at := slices.IndexFunc(known, func(a inventory.AccessProvider) bool { return a.Name == providers[i].Name })
		if at >= 0 {
			return []access.Provider{findProvider(&providers[i])}, cleanConfig(known[at].Cluster.DeepCopy())
		}
	}
	return nil, nil
}

// findProvider is a provider of the configuration as the library wants it. The library writes to what it is given, so that
// what one cluster's profile adds would show in the next one's: it gets a new one each time.
func findProvider(p *configapi.ClusterProfileAccessProvider) access.Provider {
	own := p.DeepCopy()
	run := &clientcmdapi.ExecConfig{
		Command: own.ExecConfig.Command, Args: own.ExecConfig.Args, APIVersion: own.ExecConfig.APIVersion,
		InstallHint: own.ExecConfig.InstallHint, ProvideClusterInfo: own.ExecConfig.ProvideClusterInfo,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	for _, v := range own.ExecConfig.Env {
		run.Env = append(run.Env, clientcmdapi.ExecEnvVar{Name: v.Name, Value: v.Value})
	}
	return access.Provider{
		Name: own.Name, ExecConfig: run,
		// A profile chooses a cluster, not what the hub runs.
		ProfileSourcedCLIArgsPolicy: access.ProfileSourcedCLIArgsPolicyIgnore,
		ProfileSourcedEnvVarsPolicy: access.ProfileSourcedEnvVarsPolicyIgnore,
	}
}

// cleanConfig drops extensions without content, which the library does not expect.
func cleanConfig(c *clientcmdv1.Cluster) *clientcmdv1.Cluster {
	c.Extensions = slices.DeleteFunc(c.Extensions, func(e clientcmdv1.NamedExtension) bool {
		raw := bytes.TrimSpace(e.Extension.Raw)
		return len(raw) == 0 || string(raw) == "null"
	})
	return c
}

// buildCredentials asks the library, of a profile that says only what concerns the chosen provider.
func buildCredentials(p *inventory.ClusterProfile, chosen []access.Provider, cluster *clientcmdv1.Cluster) (*rest.Config, error) {
	asked := &inventory.ClusterProfile{ObjectMeta: p.ObjectMeta}
	for _, provider := range chosen {
		asked.Status.AccessProviders = append(asked.Status.AccessProviders, inventory.AccessProvider{
			Name: provider.Name, Cluster: *cluster.DeepCopy(),
		})
	}
	config, err := access.New(slices.Clone(chosen)).BuildConfigFromCP(asked)
	if err != nil {
		return nil, err
	}
	return config, nil
}

// completeConfig adds to a connection what the library leaves out of it, or says which rule forbids it. The library's proxy is
// that of the profile, which the rules forbid; without it the hub's own environment counts, as for every connection.
func completeConfig(config *rest.Config, name string, c *clientcmdv1.Cluster) error {
	err := kubeconfig.CheckCluster(name, &clientcmdapi.Cluster{
		Server: c.Server, InsecureSkipTLSVerify: c.InsecureSkipTLSVerify,
		CertificateAuthority: c.CertificateAuthority, ProxyURL: c.ProxyURL,
	})
	if err != nil {
		return err
	}
	config.ServerName, config.DisableCompression, config.Proxy = c.TLSServerName, c.DisableCompression, nil
	return kubeconfig.CheckProfileConfig(config)
}

// fingerprint is equal for equal inputs. The connections themselves cannot be compared: they hold functions.
func fingerprint(chosen []access.Provider, cluster *clientcmdv1.Cluster) (string, error) {
	text, err := json.Marshal(struct {
		Providers []access.Provider
		Cluster   *clientcmdv1.Cluster
	}{chosen, cluster})
	if err != nil {
		return "", fmt.Errorf("compare access to a cluster: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
