package cluster

import "testing"

func TestATokenSaysWhenItEnds(t *testing.T) {
	kubeconfig := func(token string) []byte {
		return []byte(`{apiVersion: v1, kind: Config, current-context: worker,
clusters: [{name: worker, cluster: {server: "https://w1"}}], users: [{name: hub, user: {token: ` + token + `}}],
contexts: [{name: worker, context: {cluster: worker, user: hub}}]}`)
	}
	if _, ok := tokenExpiry(kubeconfig("opaque")); ok {
		t.Error("an opaque token says when it ends")
	}
	// {"alg":"none"}.{"exp":1795262400}.x
	until, ok := tokenExpiry(kubeconfig("eyJhbGciOiJub25lIn0.eyJleHAiOjE3OTUyNjI0MDB9.x"))
	if !ok || until.Unix() != 1795262400 {
		t.Errorf("%v %v", until, ok)
	}
}
