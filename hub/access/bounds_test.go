package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAWorkerWithOwnersWithoutEndIsLeftAfterSoMany(t *testing.T) {
	h := newHub(t, "w1")
	h.run(t, "train", "w1")
	h.allow("alice", everything...)
	w := h.workers["w1"]
	for i := range maxSingleReads + 1 { // so many owners that are not there that all are listed
		job := h.remoteJob(fmt.Sprintf("gone-%d", i))
		w.add(t, podsV1, podOf(fmt.Sprintf("a-%d", i), job))
	}
	sent := 0
	w.answer = func(out http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != jobs {
			return false
		}
		var items []string
		for range 2000 {
			sent++
			items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"team","name":"job-%d","uid":"uid-%d"}}`, sent, sent))
		}
		_, _ = fmt.Fprintf(out, `{"metadata":{"continue":"more"},"items":[%s]}`, strings.Join(items, ","))
		return true
	}
	code, body, _ := h.ask(t, "alice", http.MethodGet, pods)
	if code != http.StatusBadGateway || !strings.Contains(body, "too many jobs") || sent > 2*maxRemembered {
		t.Errorf("after %d owners: %d %s", sent, code, body)
	}
	if !h.clusters.memory.TryAcquire(maxAnswers) {
		t.Error("memory was not given back")
	}
}

func TestWhatIsRememberedOfAnObjectIsBounded(t *testing.T) {
	o := &ownership{namespace: namespace, seen: map[types.UID]*metav1.PartialObjectMetadata{}}
	long := strings.Repeat("x", 1<<20)
	o.remember(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: long, UID: "a"}}, jobKind)
	o.remember(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "job", UID: "b", Annotations: map[string]string{"switchyard.dev/owner-uid": long, "more": long},
		OwnerReferences: []metav1.OwnerReference{{Kind: long, Name: "x", UID: "c"}},
	}}, jobKind)
	kept := o.seen["b"]
	if len(o.seen) != 1 || kept == nil || len(kept.OwnerReferences)+len(kept.Annotations) > 0 {
		t.Errorf("remembered %v", o.seen)
	}
}

func TestAWatchForgetsWhatHasBecomeMuch(t *testing.T) {
	o := &ownership{absent: map[types.UID]bool{}}
	for i := range maxRemembered + 1 {
		o.absent[types.UID(fmt.Sprint(i))] = true
	}
	if o.nextEvent(); len(o.absent) > 0 {
		t.Errorf("%d are remembered", len(o.absent))
	}
	f := &follower{sent: map[types.UID]bool{}}
	for i := range maxRemembered + 1 {
		f.markSent(types.UID(fmt.Sprint(i)))
	}
	if len(f.sent) != maxRemembered {
		t.Errorf("%d are noted", len(f.sent))
	}
}
