package clusters

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestReadsAreRecordedOfThoseThatAreToBeCountedOnly(t *testing.T) {
	type rule struct {
		Level        string
		Users, Verbs []string
	}
	rules := func(readers ...string) []rule {
		var policy struct{ Rules []rule }
		if err := yaml.Unmarshal([]byte(auditPolicy(readers)), &policy); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(policy.Rules, func(r rule) bool { return !slices.Contains(r.Verbs, "get") })
	}
	none := rule{Level: "None", Verbs: []string{"get", "list", "watch", "proxy"}}
	if diff := cmp.Diff([]rule{none}, rules()); diff != "" {
		t.Error(diff)
	}
	want := []rule{{Level: "Metadata", Users: []string{"a", "system:serviceaccount:ns:b"}, Verbs: []string{"get", "list"}}, none}
	if diff := cmp.Diff(want, rules("a", "system:serviceaccount:ns:b")); diff != "" {
		t.Error(diff)
	}
}

func TestReadsAndWritesAreCountedApart(t *testing.T) {
	const get = `{"verb":"get","user":{"username":"u"},"objectRef":{"resource":"jobs"}}` + "\n"
	const create = `{"verb":"create","user":{"username":"u"},"objectRef":{"resource":"jobs"}}` + "\n"
	reads, err := countRequests(strings.NewReader(get+create+get), isRead)
	if err != nil || len(reads) != 1 || reads[0].Verb != "get" || reads[0].Count != 2 {
		t.Errorf("reads %+v, error %v", reads, err)
	}
}

func TestALineStillBeingWrittenIsNotCounted(t *testing.T) {
	const whole = `{"verb":"patch","user":{"username":"u"},"userAgent":"hub/v1 (linux)","objectRef":{"resource":"workloads","subresource":"status","apiGroup":"kueue.x-k8s.io"},"responseStatus":{"code":409}}`
	got, err := countRequests(strings.NewReader(whole+"\n"+whole+"\n"+whole[:40]), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	want := []WriteCount{{Count: 2, Write: Write{
		User: "u", Agent: "hub", Verb: "patch", Resource: "workloads/status.kueue.x-k8s.io", Failed: true,
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
