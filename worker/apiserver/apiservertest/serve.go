// Package apiservertest serves API groups for tests, without a cluster.
package apiservertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"switchyard.dev/worker/apiserver"
)

// newCluster is an API server that answers reviews only.
func newCluster(tb testing.TB, allow func(authorizationv1.SubjectAccessReviewSpec) bool) *httptest.Server {
	tb.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		answer(tb, w, r, func(review *authenticationv1.TokenReview) {
			review.Status.Authenticated = review.Spec.Token != "forged"
			review.Status.User.Username = review.Spec.Token
		})
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		answer(tb, w, r, func(review *authorizationv1.SubjectAccessReview) { review.Status.Allowed = allow(review.Spec) })
	})
	s := httptest.NewServer(mux)
	tb.Cleanup(s.Close)
	return s
}

// answer answers with a changed copy of what was sent.
func answer[T any](tb testing.TB, w http.ResponseWriter, r *http.Request, change func(*T)) {
	tb.Helper()
	object := new(T)
	if err := json.NewDecoder(r.Body).Decode(object); err != nil {
		tb.Error(err)
	}
	change(object)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		tb.Error(err)
	}
}

// Serve serves groups for a cluster that knows these users by their tokens, which are their names, and allows what allow says.
func Serve(tb testing.TB, allow func(authorizationv1.SubjectAccessReviewSpec) bool, groups ...apiserver.Group) *httptest.Server {
	tb.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: newCluster(tb, allow).URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		tb.Fatal(err)
	}
	server, err := apiserver.New(client, logr.Discard(), groups...)
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewTLSServer(server.Handler())
	tb.Cleanup(s.Close)
	return s
}

// Get returns the status and the text of an answer.
func Get(tb testing.TB, s *httptest.Server, token, path string, headers ...string) (int, string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.URL+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(text)
}
