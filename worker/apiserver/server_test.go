package apiserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// testServer serves groups for a cluster that knows these users by their tokens, which are their names, and allows what allow says.
func testServer(tb testing.TB, allow func(authorizationv1.SubjectAccessReviewSpec) bool, groups ...Group) *httptest.Server {
	tb.Helper()
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status.Authenticated = review.Spec.Token != "forged"
		review.Status.User.Username = review.Spec.Token
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		review.Status.Allowed = allow(review.Spec)
		return true, review, nil
	})
	identities, err := newIdentities(client, logr.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	server, err := newServer(client, identities, groups)
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewUnstartedServer(withDeadline(server.Handler))
	s.StartTLS()
	tb.Cleanup(s.Close)
	return s
}

// get returns the status and the text of an answer.
func get(tb testing.TB, s *httptest.Server, token, path string, headers ...string) (int, string) {
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

func TestWhoIsKnownAndAllowedIsServed(t *testing.T) {
	s := testServer(t, func(r authorizationv1.SubjectAccessReviewSpec) bool { return r.User == "alice" })
	for name, c := range map[string]struct {
		token   string
		headers []string
		status  int
	}{
		"a user who may":                   {"alice", nil, http.StatusOK},
		"a user who may not":               {"bob", nil, http.StatusForbidden},
		"a token that nobody knows":        {"forged", nil, http.StatusUnauthorized},
		"nobody":                           {"", nil, http.StatusUnauthorized},
		"headers of a front proxy, forged": {"", []string{"X-Remote-User", "alice", "X-Remote-Group", "system:masters"}, http.StatusUnauthorized},
		"a user with forged headers":       {"bob", []string{"X-Remote-User", "alice"}, http.StatusForbidden},
		"an impersonator who may not":      {"bob", []string{"Impersonate-User", "alice"}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := get(t, s, c.token, "/apis", c.headers...); status != c.status {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
}
