package fleet

import (
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

// hostileCluster is a cluster that answers discovery and probes, and to the list or the watch of Workloads what its name says.
type hostileCluster struct {
	name  string
	list  func(http.ResponseWriter)
	watch func(http.ResponseWriter)
}

const emptyList = `{"kind":"WorkloadList","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"resourceVersion":"1"},"items":[]}`

// workloadJSON has so many finalizers without a name: each is 3 bytes of text, and 16 in memory.
func workloadJSON(name string, finalizers int) string {
	return fmt.Sprintf(`{"kind":"Workload","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"namespace":"default","name":%q,`+
		`"resourceVersion":"2","labels":{"kueue.x-k8s.io/multikueue-origin":"hub"},"finalizers":["a"`, name) +
		strings.Repeat(`,""`, finalizers) + `]}}`
}

// gzipped is a text compressed, to be sent again and again: what is sent is no work then.
func gzipped(text string) string {
	var to strings.Builder
	z := gzip.NewWriter(&to)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return to.String()
}

// flood writes again and again what next makes, until it is not read any more or a gigabyte has gone.
func flood(w io.Writer, next func(i int) string) {
	for i, sent := 0, 0; sent < 1<<30; i++ {
		text := next(i)
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		sent += len(text)
	}
}

func hostileClusters() []hostileCluster {
	const head = `{"kind":"WorkloadList","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"resourceVersion":"1"},"items":[`
	quiet := func(w http.ResponseWriter) { _, _ = io.WriteString(w, emptyList) }
	page := `{"kind":"WorkloadList","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"resourceVersion":"1","continue":"more"},"items":[`
	spaces := gzipped(strings.Repeat(" ", 1<<20))
	var names atomic.Int64
	fresh := func() string { return fmt.Sprintf("orphan-%d", names.Add(1)) }
	return []hostileCluster{
		{name: "bomb", list: func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, gzipped(head))
			flood(w, func(int) string { return spaces })
		}},
		{name: "endless", list: func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, head+workloadJSON(fresh(), 0))
			flood(w, func(int) string { return "," + workloadJSON(fresh(), 0) })
		}},
		{name: "pages without end", list: func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, page)
			for i := range 100 {
				_, _ = io.WriteString(w, strings.Repeat(",", min(i, 1))+workloadJSON(fresh(), 3000))
			}
			_, _ = io.WriteString(w, "]}")
		}},
		{name: "nothing, by the million", list: func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, head+"{}")
			flood(w, func(int) string { return strings.Repeat(",{}", 1<<14) })
		}},
		{name: "an endless event", list: quiet, watch: func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"metadata":{"name":"`)
			flood(w, func(int) string { return strings.Repeat("x", 1<<16) })
		}},
		{name: "endless events", list: quiet, watch: func(w http.ResponseWriter) {
			flood(w, func(int) string { return `{"type":"ADDED","object":` + workloadJSON(fresh(), 30_000) + "}\n" })
		}},
	}
}

// serve starts the cluster and returns how to reach it.
func (h hostileCluster) serve(t *testing.T) *rest.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case r.URL.Path == "/apis/kueue.x-k8s.io/v1beta2":
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"kueue.x-k8s.io/v1beta2",
				"resources":[{"name":"workloads","namespaced":true,"kind":"Workload","verbs":["list","watch"]}]}`)
		case strings.Contains(query.Get("labelSelector"), probeLabel):
			_, _ = io.WriteString(w, emptyList)
		case query.Get("watch") != "" && h.watch != nil:
			h.watch(w)
		case query.Get("watch") != "":
			<-r.Context().Done()
		default:
			h.list(w)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}}
}

// heapBytes is what live objects, and those not yet found dead, take.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// trackHeapPeak returns the most that the heap held until it is called.
func trackHeapPeak() (most func() uint64) {
	var peak uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ticker := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
				peak = max(peak, heapBytes())
			}
		}
	}()
	return func() uint64 { close(stop); <-stopped; return peak }
}

func TestClustersThatFloodTheHubAreCutOffAndNobodyElseNotices(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) })
	debug.SetMemoryLimit(300 << 20) // as a container of the least size has it; what lives beyond is not hidden by it
	c := newIsolationEnv(t, false, func(o *Options) {
		long := func(int) time.Duration { return time.Hour } // so that nothing ends a connection but what its cluster sends
		o.ProbeTimeout, o.ConnectTimeout, o.Backoff = time.Hour, long, long
		tame := o.Dial
		o.Dial = func(config *rest.Config) (client.WithWatch, error) {
			if strings.HasPrefix(config.Host, "https://") {
				return o.withDefaults().dial(config)
			}
			return tame(config)
		}
	})
	c.waitConnected(t, func(int) bool { return true })
	most := trackHeapPeak()
	for _, h := range hostileClusters() {
		c.fleet.Connect(h.name, Credentials{Config: h.serve(t), Fingerprint: "x"})
	}
	for _, h := range hostileClusters() {
		c.eventually(t, h.name+" is cut off, and says why", func() bool {
			state, _ := c.fleet.State(h.name)
			return !state.Connected && errors.Is(state.Err, wire.ErrExceeded) && !state.NextAttempt.IsZero()
		})
	}
	c.dispatch(t, 0, 20)
	for _, s := range c.fleet.States() {
		if strings.HasPrefix(s.Cluster, "w") && !s.Connected {
			t.Errorf("%s is taken for lost: %v", s.Cluster, s.Err)
		}
	}
	if got := most(); got > 500<<20 {
		t.Errorf("the heap held %d MiB", got>>20)
	} else {
		t.Logf("the heap held %d MiB at most", got>>20)
	}
}
