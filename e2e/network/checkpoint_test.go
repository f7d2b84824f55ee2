package network

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// post sends a write through the proxy; the answer is "" if there was none.
func post(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestACheckpointClosesBehindAWriteThatTookEffect(t *testing.T) {
	var effects atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		effects.Add(1)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}))
	defer server.Close()
	var seen []string
	stopAt := 2
	checkpoint := &Checkpoint{
		Counts: func(_, path string) bool { return strings.HasPrefix(path, "/counted") },
		Passed: func(w Write) bool {
			if !w.Mentions("bod") || !w.Mentions("counted") || w.Mentions("neither") {
				t.Errorf("what %s mentions is not told", w)
			}
			seen = append(seen, w.Server+" "+w.Path)
			return len(seen) != stopAt
		},
	}
	proxy, err := Serve(server.TLS.Certificates[0], server.URL, checkpoint.RoundTripper("s", server.Client().Transport))
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	base, client := "https://"+proxy.Addr(), server.Client()

	answers := []string{
		post(t, client, base+"/counted/1"),
		post(t, client, base+"/other"),
		post(t, client, base+"/counted/2"), // takes effect, is not answered
		post(t, client, base+"/counted/3"), // does not
		post(t, client, base+"/other"),
	}
	if diff := cmp.Diff([]string{"POST /counted/1", "POST /other", "", "", "POST /other"}, answers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s /counted/1", "s /counted/2"}, seen); diff != "" {
		t.Error(diff)
	}
	if n := effects.Load(); n != 4 {
		t.Errorf("%d requests reached the server, want 4", n)
	}
	stopAt = 0
	checkpoint.Open()
	if got := post(t, client, base+"/counted/4"); got != "POST /counted/4" {
		t.Errorf("after Open the answer is %q", got)
	}
}

func TestWritesOfAKindLookAlike(t *testing.T) {
	got := Write{
		Server: "hub", Method: http.MethodPatch, Status: 200,
		Path: "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-1/workloads/job-train-1/status",
	}.String()
	if want := "PATCH workloads/.../status at hub (200)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Write{Server: "w1", Method: "POST", Path: "/apis/batch/v1/namespaces/n/jobs", Status: 201}).String(); got != "POST jobs at w1 (201)" {
		t.Error(got)
	}
}
