package apiserver_test

import (
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"switchyard.dev/worker/apiserver/apiservertest"
)

func TestWhoIsKnownAndAllowedIsServed(t *testing.T) {
	s := apiservertest.Serve(t, func(r authorizationv1.SubjectAccessReviewSpec) bool { return r.User == "alice" })
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
			if status, text := apiservertest.Get(t, s, c.token, "/apis", c.headers...); status != c.status {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
}
