package stream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	groups   = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"ray.io","versions":[{"groupVersion":"ray.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"ray.io/v1","version":"v1"}}]}`
	services = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"ray.io/v1","resources":[{"name":"rayservices","kind":"RayService","namespaced":true,"verbs":["list"]}]}`
	both     = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"ray.io/v1","resources":[{"name":"rayjobs","kind":"RayJob","namespaced":true,"verbs":["list"]}]}`
)

func TestOfAKindThatIsNotServedAnyMoreThereAreNoObjects(t *testing.T) {
	notFound := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Group: "ray.io", Resource: "rayjobs"}, "", "", 0, true)
	for name, row := range map[string]struct {
		answers map[string]string
		err     error
		empty   bool
	}{
		"its group is gone":            {map[string]string{"/api": `{"versions":["v1"]}`, "/apis": groups}, notFound, true},
		"the group serves other kinds": {map[string]string{"/api": `{"versions":["v1"]}`, "/apis": groups, "/apis/ray.io/v1": services}, notFound, true},
		"only its version is gone": {map[string]string{
			"/api": `{"versions":["v1"]}`, "/apis": strings.ReplaceAll(groups, "v1\"", "v2\""), "/apis/ray.io/v2": strings.ReplaceAll(both, "ray.io/v1", "ray.io/v2"),
		}, notFound, false},
		"it is served":                           {map[string]string{"/api": `{"versions":["v1"]}`, "/apis": groups, "/apis/ray.io/v1": both}, notFound, false},
		"nothing at all is found":                {nil, notFound, false},
		"the API server is busy":                 {map[string]string{"/api": `{"versions":["v1"]}`, "/apis": groups}, apierrors.NewTooManyRequestsError("busy"), false},
		"the program is not allowed to look":     {map[string]string{"/api": `{"versions":["v1"]}`, "/apis": groups}, apierrors.NewForbidden(schema.GroupResource{}, "", nil), false},
		"what is asked for groups tells of none": {map[string]string{"/api": `{}`, "/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`}, notFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer, ok := row.answers[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if _, err := w.Write([]byte(answer)); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(server.Close)
			api, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			l := kindLister{kind: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, api: api,
				list: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, row.err }}
			list, err := l.List(t.Context(), metav1.ListOptions{})
			if row.empty != (err == nil) {
				t.Fatalf("the list is %v, the error %v", list, err)
			}
			if row.empty && meta.LenList(list) != 0 {
				t.Errorf("the list has objects: %v", list)
			}
		})
	}
}

func TestWhichKindsOthersBring(t *testing.T) {
	for group, want := range map[string]bool{
		"": false, "apps": false, "batch": false, "scheduling.k8s.io": false, "kueue.x-k8s.io": false, "switchyard.dev": false,
		"jobset.x-k8s.io": true, "leaderworkerset.x-k8s.io": true, "ray.io": true, "trainer.kubeflow.org": true, "ml.example.com": true,
	} {
		if got := isBroughtByOthers(group); got != want {
			t.Errorf("%q: %t, want %t", group, got, want)
		}
	}
}
