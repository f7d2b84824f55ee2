package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
)

// metricsPath is where metrics are read.
const metricsPath = "/metrics"

// addMetrics serves metrics with TLS to users that the API server allows to read them; in plain text and to all users when
// the address is a loopback address, which only this machine can reach.
func addMetrics(ctx context.Context, mgr manager.Manager, s Settings, gatherer prometheus.Gatherer) error {
	e := endpoint{name: "metrics", address: s.Metrics.BindAddress, limits: metricsLimits}
	handler := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	if e.address != disabled && !isLoopback(e.address) {
		allow, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("authenticate who reads metrics: %w", err)
		}
		if handler, err = allow(log.Log.WithName("metrics").WithValues("path", metricsPath), handler); err != nil {
			return fmt.Errorf("authenticate who reads metrics: %w", err)
		}
		e.tls = tlsConfig(s)
		if err := addCertificate(mgr, e.tls, filepath.Join(os.TempDir(), "k8s-metrics-server", "serving-certs"), e.name); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle(metricsPath, withoutBody(handler))
	return e.add(ctx, mgr, mux)
}

// addCertificate has the certificate in a directory served, and those that replace it; if there is none, one that signs itself. The
// server is named in errors.
func addCertificate(mgr manager.Manager, c *tls.Config, dir, server string) error {
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err == nil {
		c.GetCertificate = watcher.GetCertificate
		return mgr.Add(watcher)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the certificate of %s: %w", server, err)
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil, "")
	if err != nil {
		return fmt.Errorf("make a certificate for %s: %w", server, err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("make a certificate for %s: %w", server, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// isLoopback reports whether an address can be reached from this machine only. An address without host is open to all.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
