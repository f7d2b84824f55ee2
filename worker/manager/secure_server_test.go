package manager

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/worker/kube/polltest"
	"switchyard.dev/worker/listener"
)

// The certificate that the program makes itself comes a moment after the start, and another one later.
func TestASecureServerFollowsTheProgramsOwnCertificate(t *testing.T) {
	c := &ownCertificate{dir: t.TempDir()}
	run(t, c.Start)
	if _, err := c.get(nil); err == nil {
		t.Fatal("there is a certificate already")
	}
	for _, host := range []string{"first", "second"} {
		certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures(host, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := directory(c.dir).publish([]file{{"tls.key", key}, {"tls.crt", certificate}}); err != nil {
			t.Fatal(err)
		}
		if !polltest.Holds(t, func() bool {
			got, err := c.get(nil)
			return err == nil && got.Leaf != nil && got.Leaf.VerifyHostname(host) == nil
		}) {
			t.Errorf("the certificate for %s is not served", host)
		}
	}
}

// Without a certificate from outside one is made that signs itself; a port that is taken is an error.
func TestASecureServerIsBounded(t *testing.T) {
	settings := settingsOf(t, "internalCertManagement: {enable: false}\nmetrics: {bindAddress: '0'}\nhealth: {healthProbeBindAddress: '0'}\n")
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	s := SecureServer{
		Name: "test", Host: host, Port: int32(number), Limits: listener.Limits{Total: 20, Remote: 10}, CertDir: filepath.Join(t.TempDir(), "none"),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
	}
	managerWith(t, settings, certificatesOf(t, ""),
		func(mgr ctrl.Manager) error {
			err := s.AddTo(t.Context(), mgr, settings)
			if s.AddTo(t.Context(), mgr, settings) == nil {
				t.Error("the same port was opened twice")
			}
			return err
		})
	crowd(t, s.Name, address, s.Limits.Remote)
	if status, text := get(t, from(t, "127.0.0.2"), "https://"+address); status != http.StatusTeapot {
		t.Errorf("it answers %d %s", status, text)
	}
	if _, err := os.Stat(s.CertDir); err == nil {
		t.Error("it has written its certificate")
	}
}
