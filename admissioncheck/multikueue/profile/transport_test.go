package profile

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	configapi "switchyard.dev/apis/config/v1beta2"
)

// worker is an API server that answers with the identity of the request, as "token/certificate/server name", and 401 to the
// token "old".
func worker(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "", r.TLS.ServerName}
		if len(r.TLS.PeerCertificates) > 0 {
			who[1] = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		if who[0] == "old" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(strings.Join(who, "/")))
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func trusting(s *httptest.Server) func(*clientcmdv1.Cluster) {
	return func(c *clientcmdv1.Cluster) {
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		c.TLSServerName = "example.com"
	}
}

// connect returns the connection that a profile of the server gives, and its transport.
func connect(t *testing.T, s *httptest.Server, p configapi.ClusterProfileAccessProvider, more ...func(*clientcmdv1.Cluster)) (*http.Client, *transport) {
	t.Helper()
	got, err := Credentials(profileOf("w1", at(p.Name, s.URL, append(more, trusting(s))...)), []configapi.ClusterProfileAccessProvider{p})
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(got.Config)
	if err != nil {
		t.Fatal(err)
	}
	own := got.Config.Transport.(*transport)
	t.Cleanup(func() {
		if !becomes(func() bool { own.mu.Lock(); defer own.mu.Unlock(); return own.running == nil }) {
			t.Error("a program outlives the test")
		}
		own.mu.Lock()
		defer own.mu.Unlock()
		if own.base != nil {
			own.base.CloseIdleConnections()
		}
	})
	return client, own
}

// ask returns the server's answer, or the error.
func ask(ctx context.Context, client *http.Client, s *httptest.Server) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var text [200]byte
	n, _ := response.Body.Read(text[:])
	return string(text[:n]), nil
}

func TestRequestsBearTheTokenThatThePluginGivesAndTheServerNameOfTheProfile(t *testing.T) {
	s, p := worker(t), provider(t, "p", "say", token("secret"))
	client, _ := connect(t, s, p)
	if len(runs(t, p)) != 0 {
		t.Error("the program ran before there was a request")
	}
	for range 3 {
		if got, err := ask(t.Context(), client, s); err != nil || got != "secret//example.com" {
			t.Errorf("the server saw %q, error %v", got, err)
		}
	}
	if n := len(runs(t, p)); n != 1 {
		t.Errorf("the program ran %d times", n)
	}
}

func TestThePluginIsToldOfTheClusterIfItIsToBe(t *testing.T) {
	s := worker(t)
	for _, told := range []bool{false, true} {
		p := provider(t, "p", "say", token("secret"))
		p.ExecConfig.ProvideClusterInfo = told
		client, _ := connect(t, s, p, extension("client.authentication.k8s.io/exec", `{"audience":"mine"}`))
		if _, err := ask(t.Context(), client, s); err != nil {
			t.Fatal(err)
		}
		info := runs(t, p)[0]
		for _, part := range []string{s.URL, "example.com", `"audience":"mine"`} {
			if strings.Contains(info, part) != told {
				t.Errorf("cluster info %v, but it was told %s", told, info)
			}
		}
		if !strings.Contains(info, `"interactive":false`) {
			t.Errorf("it was told %s", info)
		}
	}
}

func TestAHangingPluginHoldsUpItsOwnClusterOnlyAndNoRequestBeyondItsContext(t *testing.T) {
	s := worker(t)
	stuck, own := connect(t, s, provider(t, "p", "hang", ""))
	own.limit = time.Second
	healthy, _ := connect(t, s, provider(t, "p", "say", token("secret")))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, stuck, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if got, err := ask(t.Context(), healthy, s); err != nil || got != "secret//example.com" {
		t.Errorf("the other cluster: %q, %v", got, err)
	}
}

func TestAHangingPluginIsKilledAndRunAgain(t *testing.T) {
	s := worker(t)
	stop := filepath.Join(t.TempDir(), "stop")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := provider(t, "p", "hang-while", stop)
	client, own := connect(t, s, p)
	own.limit = 200 * time.Millisecond
	if _, err := ask(t.Context(), client, s); !errors.Is(err, errPluginTimeout) {
		t.Fatalf("error %v", err)
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	own.limit = runLimit
	own.now = func() time.Time { return time.Now().Add(time.Minute) }
	if got, err := ask(t.Context(), client, s); err != nil || got != "late//example.com" {
		t.Errorf("%q, error %v", got, err)
	}
}

func TestManyRequestsWaitForOneRun(t *testing.T) {
	s := worker(t)
	stop := filepath.Join(t.TempDir(), "stop")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := provider(t, "p", "hang-while", stop)
	client, _ := connect(t, s, p)
	answers := make(chan string)
	for range 10 {
		go func() {
			got, err := ask(context.Background(), client, s)
			if err != nil {
				got = err.Error()
			}
			answers <- got
		}()
	}
	if !becomes(func() bool { return len(runs(t, p)) > 0 }) {
		t.Fatal("it never ran")
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := <-answers; got != "late//example.com" {
			t.Error(got)
		}
	}
	if n := len(runs(t, p)); n != 1 {
		t.Errorf("the program ran %d times", n)
	}
}

func TestAPluginThatFailsIsNotRunForEveryRequest(t *testing.T) {
	s, p := worker(t), provider(t, "p", "fail", "")
	client, own := connect(t, s, p)
	var later atomic.Int64
	own.now = func() time.Time { return time.Unix(later.Load(), 0) }
	for range 3 {
		if _, err := ask(t.Context(), client, s); err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("error %v", err)
		}
	}
	if n := len(runs(t, p)); n != 1 {
		t.Errorf("the program ran %d times at once", n)
	}
	later.Store(2)
	_, _ = ask(t.Context(), client, s)
	if n := len(runs(t, p)); n != 2 {
		t.Errorf("two seconds later it had run %d times", n)
	}
}

func TestWhatAPluginMayNotSay(t *testing.T) {
	s := worker(t)
	for name, tc := range map[string]struct{ mode, says, want string }{
		"nothing":                      {"say", "", "is not an ExecCredential"},
		"something else":               {"say", `{"apiVersion":"v1","kind":"Secret"}`, "is not an ExecCredential"},
		"another version":              {"say", strings.Replace(token("x"), "/v1", "/v1beta1", 1), "is not an ExecCredential of"},
		"no status":                    {"say", credentialJSON(nil), "has no status"},
		"no credential":                {"say", credentialJSON(map[string]any{}), "neither a token nor a certificate"},
		"a certificate without a key":  {"say", credentialJSON(map[string]any{"clientCertificateData": "x"}), "without its key"},
		"a certificate that is none":   {"say", credentialJSON(map[string]any{"clientCertificateData": "x", "clientKeyData": "y"}), "cannot be used"},
		"what expired before it began": {"say", credentialJSON(map[string]any{"token": "x", "expirationTimestamp": "2020-01-01T00:00:00Z"}), "has expired"},
		"more than anybody needs":      {"flood", "", "says too much"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := connect(t, s, provider(t, "p", tc.mode, tc.says))
			if _, err := ask(t.Context(), client, s); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRefusedAndExpiredCredentialsAreRenewed(t *testing.T) {
	s := worker(t)
	says := filepath.Join(t.TempDir(), "says")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(says, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token("old"))
	p := provider(t, "p", "file", says)
	client, own := connect(t, s, p)
	start := time.Now()
	var passed atomic.Int64
	own.now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	expect := func(want string, ran int) {
		t.Helper()
		if got, err := ask(t.Context(), client, s); err != nil || got != want {
			t.Errorf("the server saw %q, error %v, want %q", got, err, want)
		}
		if n := len(runs(t, p)); n != ran {
			t.Errorf("the program ran %d times, want %d", n, ran)
		}
	}
	expect("old//example.com", 1)
	expect("old//example.com", 1) // it has just run
	passed.Store(int64(3 * time.Second))
	expect("old//example.com", 1) // and from here on it is to run again
	write(credentialJSON(map[string]any{"token": "new", "expirationTimestamp": start.Add(time.Hour).UTC().Format(time.RFC3339)}))
	expect("new//example.com", 2)
	expect("new//example.com", 2)
	passed.Store(int64(2 * time.Hour))
	write(token("newer"))
	expect("newer//example.com", 3)
}

func TestRequestsBearTheCertificateThatThePluginGives(t *testing.T) {
	s := worker(t)
	says := filepath.Join(t.TempDir(), "says")
	write := func(name string, expires time.Time) {
		t.Helper()
		cert, key := selfSigned(t, name)
		text := credentialJSON(map[string]any{
			"clientCertificateData": cert, "clientKeyData": key, "expirationTimestamp": expires.UTC().Format(time.RFC3339),
		})
		if err := os.WriteFile(says, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	var passed atomic.Int64
	client, own := connect(t, s, provider(t, "p", "file", says))
	own.now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	write("one", start.Add(time.Hour))
	if got, err := ask(t.Context(), client, s); err != nil || got != "/one/example.com" {
		t.Errorf("the server saw %q, error %v", got, err)
	}
	write("two", start.Add(3*time.Hour))
	passed.Store(int64(2 * time.Hour))
	if got, err := ask(t.Context(), client, s); err != nil || got != "/two/example.com" {
		t.Errorf("after its renewal the server saw %q, error %v", got, err)
	}
}

func selfSigned(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}))
}
