package wire_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/wire"
	"switchyard.dev/worker/jsonweight"
)

// cluster is what a server answers to everything.
type cluster struct {
	client.WithWatch
	reported atomic.Pointer[error]
}

// reach returns a bounded client of a server that answers so, over HTTP/2 or HTTP/1.1.
func reach(t *testing.T, http2 bool, answer http.HandlerFunc) *cluster {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	c := &cluster{}
	weights := jsonweight.Measure(batchv1.JobList{}, corev1.ConfigMapList{})
	link := wire.NewClusterLimits(weights, wire.NewRates().Cluster(), func(err error) { c.reported.CompareAndSwap(nil, &err) })
	config := &rest.Config{
		Host: server.URL, BearerToken: "secret",
		TLSClientConfig: rest.TLSClientConfig{CAData: certificateOf(server)},
	}
	bound, closeIdle, err := wire.Bounded(config, link)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeIdle)
	c.WithWatch, err = client.NewWithWatch(bound, client.Options{Scheme: scheme.Scheme, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ctxOf(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func answerJSON(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") }

// endless writes a piece again and again until it is not read any more, and returns how many bytes went.
func endless(w io.Writer, first, piece string) {
	if _, err := io.WriteString(w, first); err != nil {
		return
	}
	many := strings.Repeat(piece, 1+(1<<16)/len(piece))
	for sent := 0; sent < 1<<30; sent += len(many) {
		if _, err := io.WriteString(w, many); err != nil {
			return
		}
	}
}

func TestAnswersBeyondABoundAreErrorsThatSaySo(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an endless text": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			endless(w, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"continue":"`, "x")
		},
		"endless space": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w); endless(w, "", " ") },
		"a list of nothing, millions of times": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			endless(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[{}`, ",{}")
		},
		"null, millions of times": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			endless(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[null`, ",null")
		},
		"a name with escapes": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			endless(w, `{"kind":"JobList","apiVersion":"batch/v1","it\u0065ms":[{}`, ",{}")
		},
		"endless labels": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			_, _ = io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{"labels":{"a":""`)
			for i := range 1 << 24 {
				if _, err := fmt.Fprintf(w, `,"%x":""`, i); err != nil {
					return
				}
			}
		},
		"deep nesting": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w); endless(w, "", "[") },
		"a length it has": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			w.Header().Set("Content-Length", "999999999")
		},
		"compression": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"continue":"`, "x")
		},
	} {
		for _, http2 := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", name, http2), func(t *testing.T) {
				c := reach(t, http2, answer)
				err := c.List(ctxOf(t), &batchv1.JobList{})
				if !errors.Is(err, wire.ErrExceeded) || len(err.Error()) > 500 {
					t.Errorf("a list ends with %.500v", err)
				}
			})
		}
	}
}

func TestAListThatIsAskedForTentativelyIsReportedToNobody(t *testing.T) {
	c := reach(t, true, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w); endless(w, "", " ") })
	if err := c.List(wire.Tentative(ctxOf(t)), &batchv1.JobList{}); !errors.Is(err, wire.ErrExceeded) || c.reported.Load() != nil {
		t.Errorf("a tentative list: %v", err)
	}
	if err := c.List(ctxOf(t), &batchv1.JobList{}); !errors.Is(err, wire.ErrExceeded) || c.reported.Load() == nil {
		t.Errorf("another list is not reported: %v", err)
	}
}

func TestAnHonestListIsRead(t *testing.T) {
	list := &batchv1.JobList{}
	list.Kind, list.APIVersion = "JobList", "batch/v1"
	for i := range 100 {
		job := batchv1.Job{}
		job.Name = fmt.Sprintf("job-%d", i)
		job.Annotations = map[string]string{"a": strings.Repeat(`"[{,`, 5000)} // 20,000 bytes that look like structure
		job.Spec.Template.Spec.Containers = make([]corev1.Container, 10)
		list.Items = append(list.Items, job)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var accepted atomic.Value
	c := reach(t, true, func(w http.ResponseWriter, r *http.Request) {
		accepted.Store(r.Header.Get("Accept") + "|" + r.Header.Get("Accept-Encoding"))
		answerJSON(w)
		_, _ = w.Write(text)
	})
	for range 20 { // what was read is not held for ever
		got := &batchv1.JobList{}
		ctx, cancel := context.WithCancel(ctxOf(t))
		if err := c.List(ctx, got); err != nil || len(got.Items) != 100 {
			t.Fatalf("%d jobs, error %v", len(got.Items), err)
		}
		cancel()
	}
	if got := accepted.Load(); got != "application/json|" {
		t.Errorf("asked for %v", got)
	}
}

func TestAnEndlessEventOfAWatchEndsIt(t *testing.T) {
	event := `{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"}}}` + "\n"
	c := reach(t, true, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w)
		for range 10 {
			_, _ = io.WriteString(w, event)
		}
		endless(w, `{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"`, "x")
	})
	w, err := c.Watch(ctxOf(t), &batchv1.JobList{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	added := 0
	for e := range w.ResultChan() {
		if _, is := e.Object.(*batchv1.Job); is {
			added++
		}
	}
	if reported := c.reported.Load(); added != 10 || reported == nil || !errors.Is(*reported, wire.ErrExceeded) {
		t.Errorf("%d events, reported %v", added, reported)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "foreign words")
	}))
	defer elsewhere.Close()
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308, 399} {
		for _, to := range []string{elsewhere.URL + "/x", "/elsewhere"} {
			var asked atomic.Int64
			c := reach(t, true, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			})
			err := c.List(ctxOf(t), &batchv1.JobList{})
			if err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(err.Error(), "foreign") || asked.Load() != 1 {
				t.Errorf("status %d to %s: %v, after %d requests", status, to, err, asked.Load())
			}
			if err := c.Create(ctxOf(t), aJob()); err == nil || !strings.Contains(err.Error(), "redirect") {
				t.Errorf("creation, status %d to %s: %v", status, to, err)
			}
		}
	}
	if reached.Load() > 0 {
		t.Error("somebody else was asked")
	}
}

func TestHeadersAreBounded(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		c := reach(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<14))
			}
			answerJSON(w)
			_, _ = io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[]}`)
		})
		if err := c.List(ctxOf(t), &batchv1.JobList{}); err == nil || len(err.Error()) > 2*wire.MaxText {
			t.Errorf("HTTP/2 %v: a header of 1.6 MiB: %v", http2, err)
		}
	}
}

func TestOnlyJSONIsRead(t *testing.T) {
	for _, kind := range []string{"application/vnd.kubernetes.protobuf", "application/cbor", "text/html", "application/yaml", "", "x/y; z"} {
		c := reach(t, true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[]}`)
		})
		if err := c.List(ctxOf(t), &batchv1.JobList{}); err == nil || !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestTheTextsOfRefusalsAreCutAndCleaned(t *testing.T) {
	nasty := "no\x1b[31m\nroom\u202e <script>x</script>\xff" + strings.Repeat("y", 1<<20)
	status := apierrors.NewForbidden(batchv1.Resource("jobs"), "a", nil).Status()
	status.Kind, status.APIVersion, status.Message = "Status", "v1", nasty[:5000]
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a Status": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(text)
		},
		"a Status that never ends": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			w.WriteHeader(http.StatusForbidden)
			endless(w, `{"kind":"Status","message":"`, nasty)
		},
		"a text": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			endless(w, "", nasty)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			endless(w, "<html>", nasty)
		},
		"JSON that is no Status": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w)
			w.WriteHeader(http.StatusForbidden)
			endless(w, `[`, `{},`)
		},
	} {
		c := reach(t, true, answer)
		err := c.Create(ctxOf(t), aJob())
		if !apierrors.IsForbidden(err) || len(err.Error()) > 2*wire.MaxText || strings.ContainsAny(err.Error(), "\x1b\n\u202e<>") || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: %.3000q", name, err)
		}
	}
}

func TestACallWaitsNoLongerThanTheHubLets(t *testing.T) {
	var asked atomic.Int64
	c := reach(t, true, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 {
			answerJSON(w)
			_, _ = io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[]}`)
			return
		}
		w.Header().Set("Retry-After", "1")
		answerJSON(w)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"kind":"Status","details":{"retryAfterSeconds":2000000000},"reason":"TooManyRequests"}`)
	})
	if err := c.List(ctxOf(t), &batchv1.JobList{}); err != nil || asked.Load() != 2 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestAnObjectWhoseAnswerMayExceedTheBoundIsNotSent(t *testing.T) {
	var asked atomic.Int64
	c := reach(t, true, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	job := aJob()
	job.Spec.Template.Spec.Containers = make([]corev1.Container, 20000)
	err := c.Create(ctxOf(t), job)
	if !apierrors.IsRequestEntityTooLargeError(err) || asked.Load() != 0 || c.reported.Load() != nil {
		t.Errorf("a job of 20,000 containers: %v, asked %d times", err, asked.Load())
	}
}

func aJob() *batchv1.Job {
	job := &batchv1.Job{}
	job.Namespace, job.Name = "default", "a"
	return job
}
