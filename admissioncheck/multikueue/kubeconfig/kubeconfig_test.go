package kubeconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const validKubeconfig = `
apiVersion: v1
kind: Config
clusters:
- name: w1
  cluster:
    server: https://worker.example.com:6443
users:
- name: hub
  user:
    token: secret
contexts:
- name: main
  context: {cluster: w1, user: hub}
current-context: main
`

func TestKubeconfigRules(t *testing.T) {
	user := func(text string) string { return strings.Replace(validKubeconfig, "token: secret", text, 1) }
	cluster := func(text string) string {
		return strings.Replace(validKubeconfig, "    server:", "    "+text+"\n    server:", 1)
	}
	server := func(url string) string {
		return strings.Replace(validKubeconfig, "https://worker.example.com:6443", url, 1)
	}
	for _, tc := range []struct {
		name, kubeconfig, want string
	}{
		{"a token over https to a DNS name is fine", validKubeconfig, ""},
		{"so is an IP address", server("https://10.0.0.1:6443"), ""},
		{"so is an IPv6 address", server("https://[fd00::1]:6443"), ""},
		{"so is a DNS name in upper case", server("https://Worker.Example.COM"), ""},
		{"so are client certificate data", user("client-certificate-data: YQ==\n    client-key-data: YQ=="), ""},
		{"not YAML", "{", "failed to parse kubeconfig(apiconfig): "},
		{"a token file", user("tokenFile: /etc/token"), "tokenFile is not allowed"},
		{
			"a token file of a user nobody uses",
			strings.Replace(validKubeconfig, "users:", "users:\n- name: other\n  user: {tokenFile: /etc/token}", 1), "tokenFile is not allowed",
		},
		{"insecure TLS", cluster("insecure-skip-tls-verify: true"), "insecure TLS verification is not allowed for cluster w1"},
		{
			"a CA file", cluster("certificate-authority: /etc/ca"),
			"certificate-authority file paths are not allowed, use certificate-authority-data for cluster w1",
		},
		{"no server", server(`""`), "server URL is required for cluster w1"},
		{"a server that is no host name", server("https://under_score"), "untrusted server endpoint"},
		{"a server without a host", server("https://"), "untrusted server endpoint"},
		{"a server with user information", server("https://admin:pw@worker.example.com"), "untrusted server endpoint"},
		{"basic auth", user("username: admin\n    password: pw"), "basic auth is not allowed"},
		{"an exec plugin", user("exec: {command: /bin/sh, apiVersion: client.authentication.k8s.io/v1}"), "exec plugins are not allowed"},
		{"an auth provider", user("auth-provider: {name: oidc}"), "auth providers are not allowed"},
		{"plain http", server("http://worker.example.com"), "server URL must use https for cluster w1"},
		{"no scheme at all", server("worker.example.com"), "server URL must use https for cluster w1"},
		{
			"a client certificate file", user("client-certificate: /etc/cert"),
			"client-certificate file paths are not allowed, use client-certificate-data for user hub",
		},
		{
			"a client key file", user("client-key: /etc/key"),
			"client-key file paths are not allowed, use client-key-data for user hub",
		},
		{"a proxy", cluster("proxy-url: https://evil.example.com"), "proxy-url is not allowed for cluster w1"},
		{"impersonation", user("token: secret\n    as: admin"), "impersonation is not allowed for user hub"},
		{"impersonation of a group", user("token: secret\n    as-groups: [admins]"), "impersonation is not allowed for user hub"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, err := Parse([]byte(tc.kubeconfig))
			if tc.want == "" {
				if err != nil || config == nil {
					t.Fatalf("rejected: %v", err)
				}
				return
			}
			if !errors.Is(err, ErrInsecure) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAKubeconfigWithoutAContextIsBadButNotInsecure(t *testing.T) {
	_, err := Parse([]byte(strings.Replace(validKubeconfig, "current-context: main", "current-context: other", 1)))
	if err == nil || errors.Is(err, ErrInsecure) {
		t.Errorf("error %v", err)
	}
}

func TestKubeconfigFilesAreReadBelowThePrefixOnly(t *testing.T) {
	root := t.TempDir()
	prefix, outside := filepath.Join(root, "allowed"), filepath.Join(root, "allowed-not")
	for _, dir := range []string{prefix, outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "file"), filepath.Join(prefix, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path, want string }{
		{"a file below the prefix", filepath.Join(prefix, "file"), ""},
		{"no path", "", "kubeconfig path must not be empty"},
		{"a relative path", "allowed/file", "kubeconfig path must be absolute"},
		{"a relative path upwards", "../file", `kubeconfig path contains ".."`},
		{"a path that leaves the prefix", prefix + "/../allowed-not/file", "kubeconfig path is not under the allowed prefix"},
		{"a directory whose name begins like the prefix", filepath.Join(outside, "file"), "kubeconfig path is not under the allowed prefix"},
		{"a link out of the prefix", filepath.Join(prefix, "link"), "kubeconfig path is not under the allowed prefix"},
		{"the prefix itself", prefix, "kubeconfig path is not under the allowed prefix"},
		{"a file that does not exist", filepath.Join(prefix, "none"), "lstat " + filepath.Join(prefix, "none") + ": no such file or directory"},
		{"one outside that does not exist", filepath.Join(outside, "none"), "kubeconfig path is not under the allowed prefix"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw, err := ReadPath(prefix, tc.path)
			switch {
			case tc.want == "" && (err != nil || string(raw) != "content"):
				t.Errorf("read %q, error %v", raw, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
