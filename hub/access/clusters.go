package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapi "switchyard.dev/admissioncheck/multikueue/cluster"
	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// dialTimeout is how long a connection to a worker may take to come about, answerTimeout how long a worker may take to begin an answer,
	// readTimeout how long a get or one page of a list may take in all.
	dialTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
	readTimeout   = 15 * time.Second
	// keepAliveInterval is how often a silent connection is tried, keepAliveCount how often in vain.
	keepAliveInterval = 20 * time.Second
	keepAliveCount    = 4
	// pageSize is how many objects a worker is asked for at a time.
	pageSize = 250
	// maxPage is the largest page that is read, maxObject the largest object, in bytes. An API server stores no object that is larger.
	maxPage   = 16 << 20
	maxObject = 3 << 20
	// maxErrorText is how much of a worker's error is shown.
	maxErrorText = 512
)

// clusters reaches the workers, each with its own connections. It reads the Secrets from the program's cache.
type clusters struct {
	reader    client.Reader
	namespace string
	// memory is what answers of workers may take, all together.
	memory *semaphore.Weighted

	mu    sync.Mutex
	known map[string]*worker
}

// worker is the way to one worker, for as long as its credentials stay the same. It is safe for concurrent use.
type worker struct {
	name        string
	fingerprint [sha256.Size]byte
	base        *url.URL
	config      *rest.Config
	// plain carries requests without upgrade.
	plain  http.RoundTripper
	memory *semaphore.Weighted

	// adopted are former hubs whose objects there are this hub's, as the MultiKueueCluster says now.
	adopted []types.UID
	// level is what the account may do, if the Secret says so.
	level workeraccess.Level
}

// noAccessError says that the hub has no account to look after jobs on a cluster.
type noAccessError struct{ cluster, why string }

func (e noAccessError) Error() string {
	return fmt.Sprintf("the hub may not look at jobs on cluster %q: %s; an administrator of both clusters can grant it: "+
		"switchctl cluster register %s --access logs (or exec)", e.cluster, e.why, e.cluster)
}

// worker returns the way to a cluster. An error says why there is none; it is an noAccessError if there is no account.
func (c *clusters) worker(ctx context.Context, name string) (*worker, error) {
	cluster := &kueue.MultiKueueCluster{}
	if err := c.reader.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return nil, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	secret := &corev1.Secret{}
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: workeraccess.ViewerSecretName(name)}, secret)
	if apierrors.IsNotFound(err) {
		c.forget(name)
		return nil, noAccessError{name, "it has no account for that there"}
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", workeraccess.ViewerSecretName(name), err)
	}
	raw, ok := secret.Data[kueue.MultiKueueConfigSecretKey]
	if !ok {
		return nil, noAccessError{name, fmt.Sprintf("Secret %s has no key %q", secret.Name, kueue.MultiKueueConfigSecretKey)}
	}
	sum := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.known[name]
	if w == nil || w.fingerprint != sum {
		if w, err = newWorker(name, raw, sum, c.memory); err != nil {
			return nil, noAccessError{name, fmt.Sprintf("Secret %s: %v", secret.Name, err)}
		}
		c.known[name] = w
	}
	now := *w
	now.level = workeraccess.Level(secret.Labels[workeraccess.LevelLabel])
	for _, hub := range clusterapi.SplitNames(strings.TrimSpace(cluster.Annotations[switchyard.AdoptHubsAnnotation])) {
		now.adopted = append(now.adopted, types.UID(hub))
	}
	return &now, nil
}

func (c *clusters) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}

func newWorker(name string, raw []byte, sum [sha256.Size]byte, memory *semaphore.Weighted) (*worker, error) {
	config, err := kubeconfig.Parse(raw)
	if err != nil {
		return nil, err
	}
	// Nobody but the caller's own requests is to be held up by a slow one, so there is no limit of rate here.
	config.QPS, config.UserAgent = -1, "switchyard-access"
	config.Dial = newDialer().DialContext
	// With HTTP/2 the hub would hold up to 4 MiB of each log that its caller does not read.
	config.NextProtos = []string{"http/1.1"}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the server's address: %w", err)
	}
	plain, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a connection: %w", err)
	}
	return &worker{name: name, fingerprint: sum, base: base, config: config, plain: plain, memory: memory}, nil
}

// newDialer notices within a minute or two that the other side is gone.
func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveInterval, Interval: keepAliveInterval, Count: keepAliveCount,
	}}
}

// url is that of a path on the worker.
func (w *worker) url(query url.Values, parts ...string) *url.URL {
	u := w.base.JoinPath(parts...)
	u.RawQuery = query.Encode()
	return u
}

// resourceParts are the path of a resource in a namespace, with further parts.
func resourceParts(resource schema.GroupVersionResource, namespace string, more ...string) []string {
	parts := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		parts = []string{"api", resource.Version}
	}
	return append(append(parts, "namespaces", namespace, resource.Resource), more...)
}

// open sends a GET and returns the answer's body, which the caller closes. An answer that is no success is an error: the worker's Status
// if it is one.
func (w *worker) open(ctx context.Context, at *url.URL, accept string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Accept", accept)
	resp, err := w.plain.RoundTrip(req)
	if err != nil {
		return nil, w.unreachable(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	return nil, w.failure(resp)
}

// unreachable is the error of a worker that could not be asked, or did not answer in time.
func (w *worker) unreachable(err error) error {
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return newStatus(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, fmt.Sprintf("cluster %q does not answer; the job may run on all the same", w.name))
	}
	// The error has addresses, which are not for everybody who asks.
	return newStatus(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		fmt.Sprintf("cluster %q cannot be reached; the job may run on all the same", w.name))
}

// failure is the error that a worker's answer tells. What it says is shown as text only; a redirect is not followed.
func (w *worker) failure(resp *http.Response) error {
	status := &metav1.Status{}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(raw, status) != nil || status.Kind != "Status" {
		status = &metav1.Status{Message: fmt.Sprintf("answers with status %d", resp.StatusCode)}
	}
	text := fmt.Sprintf("cluster %q: %s", w.name, plainText(status.Message))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf(
			"cluster %q does not accept the hub's account: an administrator can renew its token: switchctl cluster rotate %s", w.name, w.name))
	case resp.StatusCode == http.StatusForbidden:
		return newStatus(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"%s: an administrator can grant it to the hub's account: switchctl cluster register %s --access logs (or exec)", text, w.name))
	case resp.StatusCode < http.StatusBadRequest:
		return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q answers with status %d", w.name, resp.StatusCode))
	}
	return newStatus(int32(resp.StatusCode), status.Reason, text) //nolint:gosec // three digits
}

func newStatus(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

const (
	acceptJSON     = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetaList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// fetch reads a whole answer of at most limit bytes. The caller calls release when it is done with it.
func (w *worker) fetch(ctx context.Context, at *url.URL, accept string, limit int64) (raw []byte, release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body, err := w.open(ctx, at, accept)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	buffer := &meteredBuffer{meter: meter{memory: w.memory, limit: limit}}
	if _, err := io.Copy(buffer, body); err != nil {
		buffer.release()
		var own *apierrors.StatusError
		if errors.As(err, &own) {
			return nil, nil, err
		}
		return nil, nil, w.unreachable(err)
	}
	return buffer.Bytes(), buffer.release, nil
}

// meter takes memory from that which all answers share.
type meter struct {
	memory             *semaphore.Weighted
	limit, used, taken int64
}

// chunk is how much memory is taken at a time.
const chunk = 64 << 10

// take takes memory for so many bytes. It fails where there is no more to be had.
func (m *meter) take(bytes int) error {
	if m.used += int64(bytes); m.used > m.limit {
		return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("the cluster's answer has more than %d bytes", m.limit))
	}
	for m.taken < m.used {
		if !m.memory.TryAcquire(chunk) {
			return apierrors.NewTooManyRequests("the hub has no memory left for more answers at a time: try again", 1)
		}
		m.taken += chunk
	}
	return nil
}

func (m *meter) release() {
	m.memory.Release(m.taken)
	m.taken = 0
}

// meteredBuffer takes memory for what it holds.
type meteredBuffer struct {
	bytes.Buffer
	meter
}

// Write implements io.Writer. It fails where there is no more memory to be had.
func (b *meteredBuffer) Write(p []byte) (int, error) {
	if err := b.take(len(p)); err != nil {
		return 0, err
	}
	return b.Buffer.Write(p)
}

// ReadFrom hides that of bytes.Buffer, which knows no limit.
func (b *meteredBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}

// inNamespace reads metadata in one namespace of a worker.
type inNamespace struct {
	*worker

	namespace string
}

func (w inNamespace) get(ctx context.Context, resource schema.GroupVersionResource, name string) (*metav1.PartialObjectMetadata, error) {
	raw, release, err := w.fetch(ctx, w.url(nil, resourceParts(resource, w.namespace, name)...), acceptMetadata, maxObject)
	if err != nil {
		return nil, err
	}
	defer release()
	obj := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, w.garbled(err)
	}
	return obj, nil
}

func (w inNamespace) listAll(ctx context.Context, resource schema.GroupVersionResource, each func(*metav1.PartialObjectMetadata) error) error {
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	for range maxPages {
		next, err := w.eachOfPage(ctx, w.url(query, resourceParts(resource, w.namespace)...), each)
		if err != nil || next == "" {
			return err
		}
		query.Set("continue", next)
	}
	return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q has too many %s", w.name, resource.Resource))
}

// eachOfPage calls each for the objects of one page, whose memory is given back afterwards, and returns where the next one begins.
func (w *worker) eachOfPage(ctx context.Context, at *url.URL, each func(*metav1.PartialObjectMetadata) error) (next string, err error) {
	raw, release, err := w.fetch(ctx, at, acceptMetaList, maxPage)
	if err != nil {
		return "", err
	}
	defer release()
	page := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(raw, page); err != nil {
		return "", w.garbled(err)
	}
	for i := range page.Items {
		if err := each(&page.Items[i]); err != nil {
			return "", err
		}
	}
	return page.Continue, nil
}

// maxPages is how many pages of a list are read.
const maxPages = 200

func (w *worker) garbled(err error) error {
	return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q answers what cannot be read: %s", w.name, plainText(err.Error())))
}

// forwardedHeaders are those of a caller that a worker sees; nothing that tells who the caller is may be among them.
var forwardedHeaders = []string{
	"Accept", "Content-Type", "Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions",
	"X-Stream-Protocol-Version",
}

// tokenProtocol begins what a browser sends in place of the header Authorization.
const tokenProtocol = "base64url.bearer.authorization.k8s.io."

// workerHeader returns the headers with which a caller's request goes to a worker.
func workerHeader(from http.Header) http.Header {
	to := http.Header{}
	for _, name := range forwardedHeaders {
		if values := from.Values(name); len(values) > 0 {
			to[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	if to.Get("Upgrade") != "" {
		to.Set("Connection", "Upgrade")
	}
	for _, list := range from.Values("Sec-Websocket-Protocol") {
		for protocol := range strings.SplitSeq(list, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(strings.ToLower(protocol), tokenProtocol) {
				to.Add("Sec-Websocket-Protocol", protocol)
			}
		}
	}
	return to
}
