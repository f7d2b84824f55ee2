package access

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watching is a watch of a caller.
type watching struct {
	*bufio.Scanner

	code int
}

func (h *hub) startWatch(tb testing.TB, who, path string, header ...string) *watching {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	tb.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server(tb, who).URL+"/all"+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = resp.Body.Close() })
	return &watching{bufio.NewScanner(resp.Body), resp.StatusCode}
}

// next is the next event as "TYPE name"; empty at the end.
func (w *watching) next(tb testing.TB) string {
	tb.Helper()
	if !w.Scan() {
		return ""
	}
	var e watchEvent
	if err := json.Unmarshal(w.Bytes(), &e); err != nil {
		tb.Fatalf("%s: %v", w.Text(), err)
	}
	if e.Type == "ERROR" {
		return "ERROR"
	}
	meta, err := metadataOf(e.Object)
	if err != nil {
		tb.Fatalf("%s: %v", w.Text(), err)
	}
	return string(e.Type) + " " + meta.Name
}

// say has a worker say an event.
func (w *fakeWorker) say(tb testing.TB, kind string, obj client.Object) {
	tb.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"type": kind, "object": fields})
	if err != nil {
		tb.Fatal(err)
	}
	w.events <- string(raw)
}

func (w *fakeWorker) sayTable(tb testing.TB, kind string, obj client.Object, columns bool) {
	tb.Helper()
	table := map[string]any{
		"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []any{map[string]any{"cells": []any{obj.GetName()}, "object": obj}},
	}
	if columns {
		table["columnDefinitions"] = []any{map[string]any{"name": "Name"}}
	}
	raw, err := json.Marshal(map[string]any{"type": kind, "object": table})
	if err != nil {
		tb.Fatal(err)
	}
	w.events <- string(raw)
}

func TestAWatchTellsOfThePodsOfTheHubsJobs(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.allow("alice", everything...)
	train := podOf("train-0", h.remoteJob("train"))
	w := h.startWatch(t, "alice", pods+"?watch=true")
	w1, w2 := h.workers["w1"], h.workers["w2"]
	w1.say(t, "ADDED", podOf("foreign", nil))
	w1.say(t, "ADDED", train)
	if got := w.next(t); got != "ADDED train-0" {
		t.Error(got)
	}
	w2.say(t, "MODIFIED", podOf("other-0", h.remoteJob("other")))
	if got := w.next(t); got != "ADDED other-0" { // the caller did not know of it
		t.Error(got)
	}
	w1.say(t, "DELETED", podOf("foreign", nil))
	w1.say(t, "MODIFIED", train)
	if got := w.next(t); got != "MODIFIED train-0" {
		t.Error(got)
	}
	w1.say(t, "DELETED", train)
	if got := w.next(t); got != "DELETED train-0" {
		t.Error(got)
	}
}

func TestAPodWhoseJobMovesAwayIsDeletedForAWatch(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	train := podOf("train-0", h.remoteJob("train"))
	w := h.startWatch(t, "alice", pods+"?watch=true")
	h.workers["w1"].say(t, "ADDED", train)
	if got := w.next(t); got != "ADDED train-0" {
		t.Error(got)
	}
	h.bind(t, "train", "w2")
	h.workers["w1"].say(t, "MODIFIED", train)
	if got := w.next(t); got != "DELETED train-0" {
		t.Error(got)
	}
}

func TestAWatchFollowsAJobToAnotherWorker(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	w := h.startWatch(t, "alice", pods+"?watch=true")
	h.workers["w1"].say(t, "ADDED", podOf("train-0", h.remoteJob("train")))
	if got := w.next(t); got != "ADDED train-0" {
		t.Error(got)
	}
	h.run(t, "other", "w2")
	clock, ok := h.clock.(*clocktesting.FakeClock)
	if !ok {
		t.Fatal("the clock is no fake")
	}
	clock.Step(2 * placementInterval)
	h.workers["w2"].say(t, "ADDED", podOf("other-0", h.remoteJob("other")))
	if got := w.next(t); got != "ADDED other-0" {
		t.Error(got)
	}
}

func TestAWatchThatGoesOnFromAListKnowsWhatIsDeletedWithItsJob(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	w := h.startWatch(t, "alice", pods+"?watch=true&resourceVersion=w1%3D7")
	h.workers["w1"].say(t, "DELETED", podOf("foreign", nil))
	h.workers["w1"].say(t, "DELETED", podOf("train-0", h.remoteJob("train")))
	if got := w.next(t); got != "DELETED train-0" {
		t.Error(got)
	}
}

func TestATableSaysItsColumnsOnceAndTheCluster(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	w := h.startWatch(t, "alice", pods+"?watch=true", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	h.workers["w1"].sayTable(t, "ADDED", podOf("foreign", nil), true)
	h.workers["w1"].sayTable(t, "ADDED", podOf("train-0", h.remoteJob("train")), false)
	if got := w.next(t); got != "ADDED train-0" || !strings.Contains(w.Text(), `"Cluster"`) || !strings.Contains(w.Text(), `"train-0","w1"`) {
		t.Errorf("%s: %s", got, w.Text())
	}
	h.workers["w1"].sayTable(t, "MODIFIED", podOf("train-0", h.remoteJob("train")), false)
	if got := w.next(t); got != "MODIFIED train-0" || strings.Contains(w.Text(), "columnDefinitions") {
		t.Errorf("%s: %s", got, w.Text())
	}
}

func TestAWatchEndsWhenAWorkerCannotGoOn(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	w := h.startWatch(t, "alice", pods+"?watch=true")
	h.workers["w1"].events <- `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}`
	if got := w.next(t); got != "ERROR" || !strings.Contains(w.Text(), "410") {
		t.Errorf("%s %s", got, w.Text())
	}
	if got := w.next(t); got != "" {
		t.Errorf("it goes on: %s", got)
	}
}

func TestAVersionOfAnObjectIsOneWorkersOnly(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.allow("alice", everything...)
	if code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"?watch=true&resourceVersion=12"); code != http.StatusGone {
		t.Errorf("%d %s", code, body)
	}
}

func TestAnEventLargerThanAnyObjectEndsTheWatchOfThatWorkerOnly(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.allow("alice", everything...)
	w := h.startWatch(t, "alice", pods+"?watch=true")
	h.workers["w1"].events <- `{"type":"ADDED","object":{"metadata":{"name":"` + strings.Repeat("x", 2*maxObject) + `"}}}`
	h.workers["w2"].say(t, "ADDED", podOf("other-0", h.remoteJob("other")))
	if got := w.next(t); got != "ADDED other-0" {
		t.Error(got)
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /api/v1/namespaces/team/pods/x/log?follow=true", "POST /api/v1/namespaces/team/pods/x/exec?command=sh", "GET /apis/batch/v1/namespaces/team/jobs?watch=1",
		"GET /api/v1/namespaces/../../x", "GET /api/v1/namespaces/a%2fb/pods", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "GET /api/v1/namespaces/team/pods?watch=%zz",
	} {
		f.Add(seed)
	}
	known := newKinds(nil, nil)
	known.jobs = append(known.jobs, jobKind)
	f.Fuzz(func(t *testing.T, line string) {
		method, rest, _ := strings.Cut(line, " ")
		path, query, _ := strings.Cut(rest, "?")
		r, err := parseRequest(method, path, query, known)
		if err != nil {
			if told := statusOf(err); told.Code < http.StatusBadRequest || told.Code >= http.StatusInternalServerError {
				t.Fatalf("%q: %v is no fault of the caller's", line, err)
			}
			return
		}
		if r.target == targetDiscovery || r.target == targetReview {
			return
		}
		// What goes to a worker has the parts that were authorized, and no others.
		at := (&worker{base: mustParse("https://w1")}).url(nil, resourceParts(r.resource, r.namespace, append([]string{}, trimEmpty(r.name, r.subresource)...)...)...)
		parts := strings.Split(strings.TrimPrefix(at.EscapedPath(), "/"), "/")
		want := resourceParts(r.resource, r.namespace, trimEmpty(r.name, r.subresource)...)
		if strings.Join(parts, "|") != strings.Join(want, "|") {
			t.Fatalf("%q leads to %s", line, at)
		}
		if r.verb == "" || r.namespace == "" || (r.target != targetObjects && (r.name == "" || r.subresource == "")) {
			t.Fatalf("%q: %+v", line, r)
		}
		if r.target != targetConnect && method != http.MethodGet && method != http.MethodHead {
			t.Fatalf("%q reads by %s", line, method)
		}
		switch {
		case r.resource == podsV1, isEvents(r.resource):
		default:
			if _, ok := known.Job(r.resource); !ok {
				t.Fatalf("%q: %s is not served", line, r.resource)
			}
		}
	})
}
