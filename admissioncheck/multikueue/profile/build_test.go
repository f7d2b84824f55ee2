package profile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	configapi "switchyard.dev/apis/config/v1beta2"
)

const server = "https://w1.example.com:6443"

func TestWhichProviderGivesAccess(t *testing.T) {
	both := []configapi.ClusterProfileAccessProvider{provider(t, "first", "say", ""), provider(t, "second", "say", "")}
	deprecated := profileOf("w1")
	deprecated.Status.CredentialProviders = []inventory.AccessProvider{at("first", server)}
	twice := profileOf("w1", at("first", server))
	twice.Status.CredentialProviders = []inventory.AccessProvider{at("first", "https://old.example.com")}
	for _, tc := range []struct {
		name      string
		profile   *inventory.ClusterProfile
		providers []configapi.ClusterProfileAccessProvider
		host, err string
	}{
		{name: "none is configured", profile: profileOf("w1", at("first", server)), err: "no access provider configured"},
		{
			name: "none of the profile's is configured", profile: profileOf("w1", at("third", server)), providers: both,
			err: `no matching cluster accessor found for cluster profile "w1"`,
		},
		{name: "the only one that the profile knows", profile: profileOf("w1", at("second", server)), providers: both, host: server},
		{
			name: "of two, the one configured first", providers: both, host: server,
			profile: profileOf("w1", at("second", "https://other.example.com"), at("first", server)),
		},
		{name: "one under the deprecated name of the field", profile: deprecated, providers: both, host: server},
		{name: "the present name of the field before the deprecated one", profile: twice, providers: both, host: server},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Credentials(tc.profile, tc.providers)
			switch {
			case tc.err != "" && (err == nil || err.Error() != tc.err || errors.Is(err, ErrBadConfig)):
				t.Errorf("error %v, want %q", err, tc.err)
			case tc.err == "" && (err != nil || got.Config.Host != tc.host || got.Fingerprint == ""):
				t.Errorf("credentials %+v, error %v", got, err)
			}
		})
	}
}

func TestRulesForConnectionsFromProfiles(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		server     string
		change     func(*clientcmdv1.Cluster)
	}{
		{name: "plain text", server: "http://w1.example.com", want: "server URL must use https for cluster w1"},
		{name: "no server", server: "", want: "server URL is required for cluster w1"},
		{name: "a server that is no host name", server: "https://under_score", want: "untrusted server endpoint"},
		{name: "user information", server: "https://admin:pw@w1.example.com", want: "untrusted server endpoint"},
		{
			name: "insecure TLS", server: server, want: "insecure TLS verification is not allowed for cluster w1",
			change: func(c *clientcmdv1.Cluster) { c.InsecureSkipTLSVerify = true },
		},
		{
			name: "a file of the hub", server: server,
			want:   "certificate-authority file paths are not allowed, use certificate-authority-data for cluster w1",
			change: func(c *clientcmdv1.Cluster) { c.CertificateAuthority = "/etc/ca" },
		},
		{
			name: "roots that are none", server: server,
			want:   "trust the server: unable to load root certificates: unable to parse bytes as PEM block",
			change: func(c *clientcmdv1.Cluster) { c.CertificateAuthorityData = []byte("x") },
		},
		{
			name: "a proxy", server: server, want: "proxy-url is not allowed for cluster w1",
			change: func(c *clientcmdv1.Cluster) { c.ProxyURL = "http://proxy.example.com" },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			access := at("p", tc.server)
			if tc.change != nil {
				tc.change(&access.Cluster)
			}
			_, err := Credentials(profileOf("w1", access), []configapi.ClusterProfileAccessProvider{provider(t, "p", "say", "")})
			if !errors.Is(err, ErrBadConfig) || err.Error() != tc.want {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAPluginOfAnUnknownVersionCannotBeUsed(t *testing.T) {
	p := provider(t, "p", "say", "")
	p.ExecConfig.APIVersion = "client.authentication.k8s.io/v1alpha1"
	_, err := Credentials(profileOf("w1", at("p", server)), []configapi.ClusterProfileAccessProvider{p})
	if !errors.Is(err, ErrBadConfig) || !strings.Contains(err.Error(), "v1alpha1") {
		t.Errorf("error %v", err)
	}
}

// What a profile says about the program's arguments and environment would be written into the shared configuration, and
// stay there for the next cluster.
func TestAProfileChangesNeitherTheProvidersNorWhatOtherClustersRun(t *testing.T) {
	providers := []configapi.ClusterProfileAccessProvider{provider(t, "p", "say", "")}
	providers[0].ExecConfig.Args = append(make([]string, 0, 8), "shared")
	before := providers[0].DeepCopy()
	greedy := profileOf("w1", at("p", server,
		extension("clusterprofiles.multicluster.x-k8s.io/exec/additional-args", `["--as", "root"]`),
		extension("clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", `{"PATH": "/tmp"}`)))
	saved := greedy.DeepCopy()
	got, err := Credentials(greedy, providers)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*before, providers[0]); diff != "" {
		t.Errorf("the configuration was changed:\n%s", diff)
	}
	if diff := cmp.Diff(saved, greedy); diff != "" {
		t.Errorf("the profile was changed:\n%s", diff)
	}
	run := got.Config.Transport.(*transport).plugin.config
	if len(run.Args) != 1 || run.Args[0] != "shared" || len(run.Env) != len(before.ExecConfig.Env) {
		t.Errorf("the profile decides what the hub runs: %v %v", run.Args, run.Env)
	}
	run.Args[0] = "changed"
	if providers[0].ExecConfig.Args[0] != "shared" {
		t.Error("two clusters share the arguments of their programs")
	}
}

func TestExtensionsWithoutContentDoNoHarm(t *testing.T) {
	for _, raw := range []string{"", "null", " null "} {
		_, err := Credentials(profileOf("w1", at("p", server,
			extension("clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", raw),
			extension("clusterprofiles.multicluster.x-k8s.io/exec/additional-args", raw),
			extension("client.authentication.k8s.io/exec", raw),
		)), []configapi.ClusterProfileAccessProvider{provider(t, "p", "say", "")})
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestEqualInputsHaveEqualFingerprintsAndOthersDoNot(t *testing.T) {
	base := provider(t, "p", "say", "")
	digest := func(a inventory.AccessProvider, change func(*clientcmdv1.ExecConfig)) string {
		t.Helper()
		p := base.DeepCopy()
		if change != nil {
			change(&p.ExecConfig)
		}
		got, err := Credentials(profileOf("w1", a), []configapi.ClusterProfileAccessProvider{*p})
		if err != nil {
			t.Fatal(err)
		}
		return got.Fingerprint
	}
	roots, _ := selfSigned(t, "roots")
	first := digest(at("p", server), nil)
	if first != digest(at("p", server), nil) {
		t.Error("the same profile has two fingerprints")
	}
	seen := map[string]string{first: "the first"}
	for name, other := range map[string]string{
		"another server":      digest(at("p", "https://w2.example.com"), nil),
		"another server name": digest(at("p", server, func(c *clientcmdv1.Cluster) { c.TLSServerName = "x" }), nil),
		"other roots":         digest(at("p", server, func(c *clientcmdv1.Cluster) { c.CertificateAuthorityData = []byte(roots) }), nil),
		"more for the plugin": digest(at("p", server, extension("client.authentication.k8s.io/exec", `{"audience":"x"}`)), nil),
		"another argument":    digest(at("p", server), func(e *clientcmdv1.ExecConfig) { e.Args = []string{"x"} }),
		"another variable": digest(at("p", server), func(e *clientcmdv1.ExecConfig) {
			e.Env = append(e.Env, clientcmdv1.ExecEnvVar{Name: "X", Value: "1"})
		}),
	} {
		if was, found := seen[other]; found {
			t.Errorf("%s has the fingerprint of %s", name, was)
		}
		seen[other] = name
	}
}
