package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"switchyard.dev/worker/listener"
)

// certificatePollInterval is how often to look for the first certificate.
const certificatePollInterval = 250 * time.Millisecond

var errNoCertificate = errors.New("there is no certificate yet")

// SecureServer serves a handler with TLS on every replica, with the limits and restrictions that all servers of the program have.
// How long an answer may take is the handler's to limit.
type SecureServer struct {
	// Name is its name in logs and metrics.
	Name string
	// Host it listens on; empty, all. Port is never 0.
	Host string
	Port int32
	// Limits are how many connections it keeps open.
	Limits listener.Limits
	// CertDir has tls.crt and tls.key where the program does not manage its certificates itself. Without these files a certificate
	// is made that signs itself, which lasts as long as the process.
	CertDir string
	// Handler answers. Certificates that clients present are passed on to it unverified.
	Handler http.Handler
}

// AddTo opens the port and has the manager serve it until the manager stops.
func (s SecureServer) AddTo(ctx context.Context, mgr ctrl.Manager, settings Settings) error {
	e := endpoint{
		name: s.Name, address: net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))), limits: s.Limits, tls: tlsConfig(settings), streams: true,
	}
	e.tls.ClientAuth = tls.RequestClientCert
	if err := s.addCertificate(mgr, e.tls, newCertificates(settings)); err != nil {
		return err
	}
	return e.add(ctx, mgr, s.Handler)
}

// addCertificate has a certificate served, and those that replace it.
func (s SecureServer) addCertificate(mgr ctrl.Manager, c *tls.Config, managed *certificates) error {
	if !managed.areManaged() {
		return addCertificate(mgr, c, s.CertDir, s.Name)
	}
	own := &ownCertificate{dir: managed.dir()}
	c.GetCertificate = own.get
	return mgr.Add(own)
}

// ownCertificate is the one that the program makes itself, which is there a moment after the start.
type ownCertificate struct {
	dir     string
	watcher atomic.Pointer[certwatcher.CertWatcher]
}

func (c *ownCertificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if watcher := c.watcher.Load(); watcher != nil {
		return watcher.GetCertificate(hello)
	}
	return nil, errNoCertificate
}

// NeedLeaderElection is false: every replica serves.
func (*ownCertificate) NeedLeaderElection() bool { return false }

// Start waits for the first certificate and follows its changes until the context ends. A certificate that cannot be read, or not be
// watched, ends no program: what else it does goes on.
func (c *ownCertificate) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithValues("directory", c.dir)
	_ = wait.PollUntilContextCancel(ctx, certificatePollInterval, true, func(context.Context) (bool, error) {
		watcher, err := certwatcher.New(filepath.Join(c.dir, "tls.crt"), filepath.Join(c.dir, "tls.key"))
		switch {
		case err == nil:
			c.watcher.Store(watcher)
		case !errors.Is(err, os.ErrNotExist):
			log.Error(err, "The program's own certificate cannot be read; trying again")
		}
		return err == nil, nil
	})
	if watcher := c.watcher.Load(); watcher != nil { // or the context has ended
		if err := watcher.Start(ctx); err != nil {
			log.Error(err, "The program's own certificate is not watched")
		}
	}
	return nil
}
