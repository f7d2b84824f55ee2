package wire

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Transport makes connections that bound what an answer's header and an unread stream may take, and ask for no compression: a
// byte of the hub's memory is then one that the worker has sent.
func Transport(secure *tls.Config) *http.Transport {
	return utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: secure, DisableCompression: true,
		MaxResponseHeaderBytes: MaxHeader, ResponseHeaderTimeout: HeaderTimeout,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: MaxStream},
	})
}

// Bounded returns a configuration to reach a cluster as the given one does, with answers that are bounded by the link: JSON
// and nothing else, since nothing else can be weighed before it is decoded. Close ends unused connections.
func Bounded(config *rest.Config, link *ClusterLimits) (bound *rest.Config, closeIdle func(), err error) {
	bound = rest.CopyConfig(config)
	bound.ContentType, bound.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	bound.DisableCompression = true
	bound.WarningHandler, bound.WarningHandlerWithContext = rest.NoWarnings{}, nil // they would be logged, whatever they say
	closeIdle = func() {}
	if bound.Transport == nil {
		secure, err := rest.TLSConfigFor(config)
		if err != nil {
			return nil, nil, fmt.Errorf("trust the server: %w", err)
		}
		made := Transport(secure)
		bound.Transport, bound.TLSClientConfig, closeIdle = made, rest.TLSClientConfig{}, made.CloseIdleConnections
	}
	bound.Wrap(link.Wrap)
	return bound, closeIdle, nil
}
