package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	pods = "/api/v1/namespaces/team/pods"
	jobs = "/apis/batch/v1/namespaces/team/jobs"
)

var everything = []string{
	"get pods", "list pods", "watch pods", "get pods/log", "create pods/exec", "create pods/attach", "create pods/portforward",
	"list events", "get jobs", "list jobs",
}

func TestLogsOfAPodComeFromItsWorker(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.allow("alice", "get pods/log")
	code, body, header := h.ask(t, "alice", http.MethodGet, pods+"/train-0/log?follow=true&tailLines=5&container=main",
		"Authorization", "Bearer alices-own", "Impersonate-User", "root", "X-Remote-User", "root", "Cookie", "a=b", "Accept", "*/*")
	if code != http.StatusOK || body != "hello\n" {
		t.Fatalf("%d %q", code, body)
	}
	if header.Get("Content-Type") != "text/plain" || header.Get("Set-Cookie") != "" {
		t.Errorf("the worker's headers come through: %v", header)
	}
	got := h.workers["w1"].requests
	if len(got) != 1 || len(h.workers["w2"].requests) != 0 {
		t.Fatalf("%d requests on w1, %d on w2", len(got), len(h.workers["w2"].requests))
	}
	if got[0].ProtoMajor != 1 {
		t.Errorf("%s has windows of its own: what the caller does not read would pile up on the hub", got[0].Proto)
	}
	if q := got[0].URL.RawQuery; q != "follow=true&tailLines=5&container=main" {
		t.Errorf("query %q", q)
	}
	if got[0].Header.Get("Authorization") != "Bearer the-hubs-own" {
		t.Errorf("the worker is asked as %q", got[0].Header.Get("Authorization"))
	}
	for _, name := range []string{"Impersonate-User", "X-Remote-User", "Cookie", "X-Forwarded-For"} {
		if v := got[0].Header.Get(name); v != "" {
			t.Errorf("%s: %q leaves the hub", name, v)
		}
	}
}

func TestAConnectionToAContainerIsUpgradedAndRecorded(t *testing.T) {
	for _, tc := range []struct{ name, method, subresource, event string }{
		{"exec by SPDY", http.MethodPost, "exec?command=sh&stdin=true", "PodExec"},
		{"exec by WebSocket", http.MethodGet, "exec?command=sh&stdin=true", "PodExec"},
		{"attach", http.MethodPost, "attach", "PodAttach"},
		{"port forwarding", http.MethodPost, "portforward", "PodPortForward"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHub(t, "w1")
			h.run(t, "train", "w1")
			h.allow("alice", "create pods/exec", "create pods/attach", "create pods/portforward")
			conn := dial(t, h.server(t, "alice").Listener.Addr().String())
			fmt.Fprintf(conn, "%s /all%s/train-0/%s HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"+
				"Authorization: Bearer alices-own\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Stream-Protocol-Version: v3.channel.k8s.io\r\n"+
				"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io\r\n\r\n", tc.method, pods, tc.subresource)
			reader := bufio.NewReader(conn)
			resp, err := http.ReadResponse(reader, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v %v", resp, err)
			}
			_ = resp.Body.Close()
			fmt.Fprintf(conn, "a line\n")
			if line, err := reader.ReadString('\n'); line != "heard a line\n" {
				t.Errorf("%q %v", line, err)
			}
			got := h.workers["w1"].requests[0]
			if got.Header.Get("Authorization") != "Bearer the-hubs-own" || strings.Contains(fmt.Sprint(got.Header), "c2VjcmV0") {
				t.Errorf("the worker sees %v", got.Header)
			}
			if v := got.Header.Values("X-Stream-Protocol-Version"); len(v) != 2 {
				t.Errorf("protocols %v", v)
			}
			_, query, _ := strings.Cut(tc.subresource, "?")
			if got.URL.RawQuery != query {
				t.Errorf("query %q", got.URL.RawQuery)
			}
			select {
			case event := <-h.events.Events:
				if !strings.Contains(event, tc.event) || !strings.Contains(event, "alice") || !strings.Contains(event, "train-0") {
					t.Errorf("event %q", event)
				}
			default:
				t.Error("no event")
			}
		})
	}
}

func dial(tb testing.TB, address string) net.Conn {
	tb.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	return conn
}

func TestListsShowThePodsOfTheHubsJobsOnAllWorkers(t *testing.T) {
	h := newHub(t, "w1", "w2", "w3")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.workers["w3"].add(t, podsV1, podOf("elsewhere", h.remoteJob("train")))
	h.allow("alice", everything...)
	code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"?labelSelector=app%3Dx")
	if code != http.StatusOK || names(body) != "other-0 train-0" || !strings.Contains(body, `"resourceVersion":"w1=7,w2=7"`) {
		t.Errorf("%d %s", code, body)
	}
	if slices.Contains(h.workers["w3"].paths, pods) {
		t.Error("a worker is asked that has no job of the namespace")
	}
	code, body, _ = h.ask(t, "alice", http.MethodGet, pods, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	if code != http.StatusOK || !strings.Contains(body, `"kind":"Table"`) || !strings.Contains(body, `"cells":["a cell","w2"]`) || !strings.Contains(body, `"name":"Cluster"`) {
		t.Errorf("%d %s", code, body)
	}
	code, body, _ = h.ask(t, "alice", http.MethodGet, jobs+"/train")
	if code != http.StatusOK || !strings.Contains(body, "remote-job-train") {
		t.Errorf("%d %s", code, body)
	}
	if code, body, _ = h.ask(t, "alice", http.MethodGet, pods+"?labelSelector=app%3Dy"); names(body) != "" {
		t.Errorf("%d %s", code, body)
	}
}

// names are those of the pods in an answer, in order.
func names(body string) string {
	var found []string
	for _, name := range []string{"other-0", "train-0", "elsewhere", "foreign"} {
		if strings.Contains(body, `"name":"`+name+`"`) {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}

// TestPodsThatAreNotOfTheHubsJobsAreNotThere has one row for each way in which a pod of the namespace can be somebody else's.
func TestPodsThatAreNotOfTheHubsJobsAreNotThere(t *testing.T) {
	for _, tc := range []struct {
		name  string
		setup func(h *hub, w *fakeWorker)
	}{
		{"it has no owner", func(_ *hub, w *fakeWorker) { w.add(t, podsV1, podOf("foreign", nil)) }},
		{"it says by labels that it is of the job", func(_ *hub, w *fakeWorker) {
			pod := podOf("foreign", nil)
			pod.Labels = map[string]string{
				"batch.kubernetes.io/job-name": "train", kueue.MultiKueueOriginLabel: origin, "kueue.x-k8s.io/prebuilt-workload-name": "job-train",
			}
			pod.Annotations = map[string]string{switchyard.HubUIDAnnotation: hubUID, switchyard.OwnerUIDAnnotation: "workload-train"}
			w.add(t, podsV1, pod)
		}},
		{"its owner has the job's name and another UID", func(h *hub, w *fakeWorker) {
			job := h.remoteJob("train")
			job.UID = "another"
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its job is nobody's", func(h *hub, w *fakeWorker) {
			job := h.remoteJob("local")
			job.Labels, job.Annotations = nil, nil
			w.add(t, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its job bears the hub's marks and has no Workload", func(h *hub, w *fakeWorker) {
			job := h.remoteJob("forged")
			w.add(t, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its job is another hub's", func(h *hub, w *fakeWorker) {
			h.run(t, "twin", "w1")
			job := h.remoteJob("twin")
			job.Annotations[switchyard.HubUIDAnnotation] = "another-hub"
			w.add(t, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its copy is of another Workload", func(h *hub, w *fakeWorker) {
			h.run(t, "twin", "w1")
			job := h.remoteJob("twin")
			copied := h.copyOf("twin", job)
			copied.Annotations[switchyard.OwnerUIDAnnotation] = "another-workload"
			w.add(t, workloadsResource, copied)
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"the copy belongs to another job", func(h *hub, w *fakeWorker) {
			h.run(t, "twin", "w1")
			job := h.remoteJob("twin")
			job.UID = "an-impostor"
			w.add(t, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its Workload is bound to another cluster", func(h *hub, w *fakeWorker) {
			h.run(t, "moved", "w2")
			job := h.remoteJob("moved")
			w.add(t, batchv1.SchemeGroupVersion.WithResource("jobs"), job)
			w.add(t, workloadsResource, h.copyOf("moved", job))
			w.add(t, podsV1, podOf("foreign", job))
		}},
		{"its owner is of a kind that has nothing to do with jobs", func(_ *hub, w *fakeWorker) {
			pod := podOf("foreign", nil)
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "x", UID: "remote-job-train", Controller: ptr.To(true)}}
			w.add(t, podsV1, pod)
		}},
		{"its owner's name is a path", func(_ *hub, w *fakeWorker) {
			pod := podOf("foreign", nil)
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "../../secrets/x", UID: "u", Controller: ptr.To(true)}}
			w.add(t, podsV1, pod)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHub(t, "w1", "w2")
			h.run(t, "train", "w1")
			h.run(t, "other", "w2")
			tc.setup(h, h.workers["w1"])
			h.allow("alice", everything...)
			if code, body, _ := h.ask(t, "alice", http.MethodGet, pods); code != http.StatusOK || strings.Contains(body, `"foreign"`) || !strings.Contains(body, `"train-0"`) {
				t.Errorf("list: %d %s", code, body)
			}
			for _, path := range []string{"", "/log", "/exec", "/attach", "/portforward"} {
				code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"/foreign"+path, "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
				if code != http.StatusNotFound || !strings.Contains(body, "no job of namespace team has it") {
					t.Errorf("%s: %d %s", path, code, body)
				}
			}
			if n := len(h.workers["w1"].requests); n > 0 {
				t.Errorf("%d requests went through", n)
			}
			for _, path := range h.workers["w1"].paths {
				if strings.Contains(path, "secrets") {
					t.Errorf("the hub was led to %s", path)
				}
			}
		})
	}
}

func TestWhoeverMayNotDoItOnTheHubMayNotDoItThroughIt(t *testing.T) {
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "SPDY/3.1"}
	for _, tc := range []struct{ name, has, method, path string }{
		{"no right at all", "", http.MethodGet, pods},
		{"get is not list", "get pods", http.MethodGet, pods},
		{"list is not watch", "list pods", http.MethodGet, pods + "?watch=true"},
		{"list is not watch, however it is written", "list pods", http.MethodGet, pods + "?watch=1"},
		{"list is not get", "list pods", http.MethodGet, pods + "/train-0"},
		{"pods are not their logs", "get pods", http.MethodGet, pods + "/train-0/log"},
		{"logs are no connection", "get pods/log", http.MethodPost, pods + "/train-0/exec?command=sh"},
		{"get is no connection, even by GET", "get pods/exec", http.MethodGet, pods + "/train-0/exec?command=sh"},
		{"exec is not attach", "create pods/exec", http.MethodPost, pods + "/train-0/attach"},
		{"exec is not port forwarding", "create pods/exec", http.MethodPost, pods + "/train-0/portforward"},
		{"pods are not jobs", "list pods", http.MethodGet, jobs},
		{"pods are not events", "list pods", http.MethodGet, "/api/v1/namespaces/team/events"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHub(t, "w1")
			h.run(t, "train", "w1")
			h.allow("mallory", tc.has)
			h.allow("alice", everything...)
			code, body, _ := h.ask(t, "mallory", tc.method, tc.path, upgrade...)
			if code != http.StatusForbidden || !strings.Contains(body, `User \"mallory\" cannot`) {
				t.Errorf("%d %s", code, body)
			}
			if n := len(h.workers["w1"].paths); n > 0 {
				t.Errorf("the worker was asked %d times", n)
			}
		})
	}
}

func TestWhatIsNotServedIsNotFound(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	for _, tc := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, "/api/v1/namespaces/team/secrets", http.StatusNotFound},
		{http.MethodGet, "/api/v1/namespaces/team/secrets/x", http.StatusNotFound},
		{http.MethodGet, "/api/v1/nodes", http.StatusNotFound},
		{http.MethodGet, "/api/v1/pods", http.StatusNotFound},
		{http.MethodGet, "/api/v1/namespaces", http.StatusNotFound},
		{http.MethodGet, "/api/v1/namespaces/team", http.StatusNotFound},
		{http.MethodGet, "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads", http.StatusNotFound},
		{http.MethodGet, "/apis/batch/v2/namespaces/team/jobs", http.StatusNotFound},
		{http.MethodGet, pods + "/train-0/proxy", http.StatusNotFound},
		{http.MethodGet, pods + "/train-0/log/x", http.StatusNotFound},
		{http.MethodGet, pods + "/train-0/ephemeralcontainers", http.StatusNotFound},
		{http.MethodPost, pods, http.StatusMethodNotAllowed},
		{http.MethodPost, pods + "/train-0", http.StatusMethodNotAllowed},
		{http.MethodPost, pods + "/train-0/log", http.StatusMethodNotAllowed},
		{http.MethodDelete, pods + "/train-0", http.StatusMethodNotAllowed},
		{http.MethodPatch, jobs + "/train", http.StatusMethodNotAllowed},
		{http.MethodPut, pods + "/train-0/exec", http.StatusMethodNotAllowed},
		{http.MethodGet, "/openapi/v3", http.StatusNotFound},
		{http.MethodGet, "/metrics", http.StatusNotFound},
		{http.MethodGet, "/api/v1/namespaces/team/pods/..%2f..%2fsecrets/log", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/namespaces/../pods/x/log", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/namespaces/team/pods/a%00b", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/namespaces/TEAM/pods", http.StatusBadRequest},
		{http.MethodGet, "/api/v1//namespaces/team/pods", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/namespaces/team/pods/" + strings.Repeat("a", 300), http.StatusBadRequest},
		{http.MethodGet, pods + "?limit=%zz", http.StatusBadRequest},
		{http.MethodGet, pods + "/train-0/exec?command=sh", http.StatusBadRequest}, // no upgrade
		{http.MethodGet, pods + "?sendInitialEvents=true&watch=true", http.StatusUnprocessableEntity},
	} {
		code, body, _ := h.ask(t, "alice", tc.method, tc.path)
		if code != tc.code || !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s %s: %d %s, want %d", tc.method, tc.path, code, body, tc.code)
		}
		if code == http.StatusNotFound && !strings.Contains(body, "the hub serves pods") {
			t.Errorf("%s: no hint: %s", tc.path, body)
		}
	}
	for _, path := range h.workers["w1"].paths {
		if !strings.HasPrefix(path, pods+"/train-0") && path != jobs+"/train" && !strings.HasPrefix(path, "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads/job-train") {
			t.Errorf("the worker was asked for %s", path)
		}
	}
}

func TestDiscoveryShowsWhatIsServed(t *testing.T) {
	h := newHub(t)
	for path, want := range map[string]string{
		"/api": `"versions":["v1"]`, "/api/v1": `"name":"pods/log"`, "/apis": `"groupVersion":"batch/v1"`, "/apis/batch": `"kind":"APIGroup"`,
		"/apis/batch/v1": `"name":"jobs"`, "/version": "v1.37.0", "/apis/events.k8s.io/v1": `"name":"events"`,
	} {
		if code, body, _ := h.ask(t, "anybody", http.MethodGet, path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestAWorkerThatDoesNotAnswerHoldsUpNobodyElse(t *testing.T) {
	h := newHub(t, "w1", "w2")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.allow("alice", everything...)
	hangs := make(chan struct{})
	t.Cleanup(func() { close(hangs) })
	h.workers["w2"].answer = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-hangs:
		case <-r.Context().Done():
		}
		return true
	}
	if code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"/train-0/log"); code != http.StatusOK || body != "hello\n" {
		t.Errorf("%d %s", code, body)
	}
}

func TestAListSaysWhichWorkersAreMissing(t *testing.T) {
	h := newHub(t, "w1", "w2", "w3")
	h.run(t, "train", "w1")
	h.run(t, "other", "w2")
	h.run(t, "third", "w3")
	h.workers["w2"].Close()
	if err := h.client.Delete(t.Context(), secretOf("w3")); err != nil {
		t.Fatal(err)
	}
	h.allow("alice", everything...)
	code, body, header := h.ask(t, "alice", http.MethodGet, pods)
	if code != http.StatusOK || names(body) != "train-0" {
		t.Errorf("%d %s", code, body)
	}
	warnings := strings.Join(header.Values("Warning"), "\n")
	if !strings.Contains(warnings, "cluster 'w2' cannot be reached") || !strings.Contains(warnings, "switchctl cluster register w3 --access") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestAKindThatTheAccountMayNotReadHidesOnlyWhatItOwns(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	set := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "set", UID: "set-uid"},
	}
	h.workers["w1"].add(t, podsV1, podOf("foreign", set))
	h.workers["w1"].answer = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "jobsets") {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","message":"jobsets are forbidden","reason":"Forbidden","code":403}`)
		return true
	}
	code, body, header := h.ask(t, "alice", http.MethodGet, pods)
	if code != http.StatusOK || names(body) != "train-0" || !strings.Contains(header.Get("Warning"), "jobsets are forbidden") {
		t.Errorf("%d %s %v", code, body, header)
	}
	if code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"/foreign/log"); code != http.StatusNotFound { // as if there were none
		t.Errorf("%d %s", code, body)
	}
}

func TestWithoutAnAccountTheAnswerSaysHowToGrantIt(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	secret := secretOf("w1")
	if err := h.client.Get(t.Context(), keyOf(secret), secret); err != nil {
		t.Fatal(err)
	}
	secret.Labels[workeraccess.LevelLabel] = string(workeraccess.LevelLogs)
	if err := h.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"/train-0/exec", "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
	if code != http.StatusForbidden || !strings.Contains(body, "switchctl cluster register w1 --access exec") {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := h.ask(t, "alice", http.MethodGet, pods+"/train-0/log"); code != http.StatusOK {
		t.Errorf("logs: %d", code)
	}
	if err := h.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	code, body, _ = h.ask(t, "alice", http.MethodGet, pods+"/train-0/log")
	if code != http.StatusForbidden || !strings.Contains(body, "switchctl cluster register w1 --access logs") {
		t.Errorf("%d %s", code, body)
	}
}

func TestAHostileWorkerDoesNoHarm(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   string
	}{
		{"it answers without end", func(w http.ResponseWriter) {
			for range 1 << 12 {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "more than"},
		{"it redirects", func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://169.254.169.254/")
			w.WriteHeader(http.StatusFound)
		}, "answers with status 302"},
		{"it answers with garbage", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, "cannot be read"},
		{"it lies about the object's name", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"kind":"Pod","metadata":{"name":"another","namespace":"team","uid":"pod-train-0"}}`))
		}, "no job of namespace team has it"},
		{"its error text is for a terminal", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"kind":"Status","message":"\u001b[2Jboo","code":500}`))
		}, "boo"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHub(t, "w1")
			h.run(t, "train", "w1")
			h.allow("alice", everything...)
			h.workers["w1"].answer = func(w http.ResponseWriter, _ *http.Request) bool {
				tc.answer(w)
				return true
			}
			code, body, _ := h.ask(t, "alice", http.MethodGet, pods+"/train-0/log")
			if code < http.StatusBadRequest || !strings.Contains(body, tc.want) || strings.Contains(body, `\u001b`) {
				t.Errorf("%d %s", code, body)
			}
			if !h.clusters.memory.TryAcquire(maxAnswers) {
				t.Error("memory was not given back")
			}
		})
	}
}

func TestEventsAreThoseAboutTheHubsJobs(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	about := func(name, kind, apiVersion, object, uidOf string) {
		h.workers["w1"].add(t, coreEvents, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: kind, APIVersion: apiVersion, Namespace: namespace, Name: object, UID: uid(uidOf)},
		})
	}
	about("of-the-pod", "Pod", "v1", "train-0", "pod-train-0")
	about("of-the-job", "Job", "batch/v1", "train", "remote-job-train")
	about("of-the-copy", "Workload", kueue.GroupVersion.String(), "job-train", "copy-train")
	about("of-a-predecessor", "Pod", "v1", "train-0", "another-uid")
	about("of-a-secret", "Secret", "v1", "x", "remote-job-train")
	for _, accept := range []string{"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"} {
		_, body, _ := h.ask(t, "alice", http.MethodGet, "/api/v1/namespaces/team/events", "Accept", accept)
		for name, want := range map[string]bool{"of-the-pod": true, "of-the-job": true, "of-the-copy": true, "of-a-predecessor": false, "of-a-secret": false} {
			if got := strings.Contains(body, `"`+name+`"`); got != want {
				t.Errorf("%s: %s: %v, want %v", accept, name, got, want)
			}
		}
	}
}

func TestASelfSubjectAccessReviewAnswersForWhatIsServed(t *testing.T) {
	h := newHub(t, "w1")
	h.allow("alice", "get pods/log", "get secrets")
	for _, tc := range []struct {
		attributes string
		allowed    bool
	}{
		{`"namespace":"team","verb":"get","resource":"pods","subresource":"log"`, true},
		{`"namespace":"team","verb":"get","resource":"pods","subresource":"log","version":"v1"`, true},
		{`"namespace":"team","verb":"get","resource":"pods","subresource":"log","version":"*"`, true},
		{`"namespace":"team","verb":"get","resource":"pods"`, false},
		{`"namespace":"team","verb":"get","resource":"secrets"`, false}, // not served, whatever the hub says
		{`"verb":"get","resource":"pods","subresource":"log"`, false},
	} {
		body := `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{` + tc.attributes + `}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server(t, "alice").URL+"/all/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s %v", resp.StatusCode, raw, err)
		}
		if got := strings.Contains(string(raw), `"allowed":true`); got != tc.allowed {
			t.Errorf("%s: %s", tc.attributes, raw)
		}
	}
}
