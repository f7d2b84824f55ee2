package manager

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	ours "switchyard.dev/worker/webhook"
)

// zeros is a body of spaces that is never held as a whole.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func newTestBodies(t *testing.T) *requestLimiter {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return newRequestLimiter(scheme)
}

// post sends a body to a webhook that reads all of it, and returns the status and how much was read.
func post(t *testing.T, b *requestLimiter, path string, body io.Reader, length int64) (status, read int) {
	t.Helper()
	handler := b.limit(path, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		read = len(text)
	}))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
	request.ContentLength = length
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code, read
}

func conversion(objects string) string {
	return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":"x","objects":[` + objects + `]}}`
}

func TestBodiesOfWebhooksAreBounded(t *testing.T) {
	workload := `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"a"}}`
	bomb := `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","spec":{"podSets":[{}` + strings.Repeat(",{}", 1<<20) + `]}}`
	for name, c := range map[string]struct {
		path, body string
		length     int64 // of the body if zero
		want       int
	}{
		"a review":                           {path: "/validate", body: `{"request":{"object":` + workload + `}}`, want: 200},
		"a review without length":            {path: "/validate", body: workload, length: -1, want: 411},
		"a review of 8 MiB":                  {path: "/validate", length: 8 << 20, want: 413},
		"a review that ends early":           {path: "/validate", body: workload, length: 1000, want: 400},
		"a review of a million pod sets":     {path: "/validate", body: `{"request":{"object":` + bomb + `}}`, want: 413},
		"a conversion":                       {path: ours.ConversionPath, body: conversion(workload + "," + workload), want: 200},
		"a conversion of 10,000":             {path: ours.ConversionPath, body: conversion(workload + strings.Repeat(","+workload, 9999)), want: 200},
		"a conversion of 600 MiB":            {path: ours.ConversionPath, length: 600 << 20, want: 413},
		"a conversion of nothing, often":     {path: ours.ConversionPath, body: conversion("{}" + strings.Repeat(",{}", 1<<20)), want: 413},
		"a conversion of a bomb":             {path: ours.ConversionPath, body: conversion(workload + "," + bomb), want: 413},
		"a conversion with another's name":   {path: ours.ConversionPath, body: strings.Replace(conversion("{}"+strings.Repeat(",{}", 1<<20)), "objects", "Objects", 1), want: 413},
		"a conversion that has its response": {path: ours.ConversionPath, body: `{"response":{"convertedObjects":[{}` + strings.Repeat(",{}", 1<<20) + `]}}`, want: 413},
	} {
		length := c.length
		var body io.Reader = strings.NewReader(c.body)
		if length == 0 {
			length = int64(len(c.body))
		} else if c.body == "" {
			body = zeros{}
		}
		got, read := post(t, newTestBodies(t), c.path, body, length)
		if got != c.want || got == 200 && read != len(c.body) {
			t.Errorf("%s: status %d, want %d; %d bytes were read", name, got, c.want, read)
		}
	}
}

func TestLargeBodiesWaitForOneAnotherAndSmallOnesDoNot(t *testing.T) {
	b := newTestBodies(t)
	from := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	first, ok := b.acquire(from, maxConversion, func() {})
	if !ok {
		t.Fatal("the first has no room")
	}
	if status, _ := post(t, b, "/validate", strings.NewReader("{}"), 2); status != 200 {
		t.Errorf("a small review is answered with %d", status)
	}
	waiting := make(chan bool)
	go func() {
		second, ok := b.acquire(from, maxReview, func() {})
		if ok {
			second.Release()
		}
		waiting <- ok
	}()
	select {
	case <-waiting:
		t.Error("a large body does not wait")
	default:
	}
	first.Release()
	if !<-waiting {
		t.Error("a large body has no room when there is")
	}
}

func TestNothingIsReadWhereNothingIsToBeSent(t *testing.T) {
	for _, c := range []struct {
		method string
		length int64
		want   int
	}{{http.MethodGet, 0, 200}, {http.MethodHead, 0, 200}, {http.MethodPost, 0, 413}, {http.MethodGet, 5, 413}, {http.MethodGet, -1, 413}} {
		request := httptest.NewRequestWithContext(t.Context(), c.method, "/metrics", http.NoBody)
		request.ContentLength = c.length
		recorder := httptest.NewRecorder()
		withoutBody(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })).ServeHTTP(recorder, request)
		if recorder.Code != c.want {
			t.Errorf("%s with a length of %d: %d, want %d", c.method, c.length, recorder.Code, c.want)
		}
	}
}
