package kept_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/hub/logtail/kept"
)

func aTail() *kept.Tail {
	return &kept.Tail{
		Namespace: "team", Workload: "job-train-1a2b3", UID: "u1", Job: kept.Job{Kind: "Job.batch", Name: "train"}, Cluster: "w1",
		FinishedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
}

func add(tb testing.TB, t *kept.Tail, pod, container, text string) {
	tb.Helper()
	if err := t.Add(kept.Entry{Pod: pod, Container: container, ExitCode: ptr.To[int32](1), Cut: true}, []byte(text)); err != nil {
		tb.Fatal(err)
	}
}

func TestWhatIsKeptIsReadAsItWas(t *testing.T) {
	want := aTail()
	add(t, want, "train-0", "main", "no more memory\n")
	add(t, want, "train-0", "side", "")
	want.LeaveOut("train-1", "main", validationError("gone"))
	cm, err := want.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	if cm.Labels[switchyard.LogTailLabel] != "u1" || cm.Annotations[switchyard.LogTailJobAnnotation] != "Job.batch/train" || cm.BinaryData["train-0_main.log.gz"] == nil {
		t.Errorf("%v", cm)
	}
	if !kept.IsOurs(&cm.ObjectMeta) {
		t.Error("it is not known again")
	}
	got, err := kept.Read(cm)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kept.Tail{}), cmpopts.IgnoreFields(kept.Tail{}, "Workload")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if text, err := got.Text(got.Entries[0]); err != nil || string(text) != "no more memory\n" {
		t.Errorf("%q, %v", text, err)
	}
}

type validationError string

func (e validationError) Error() string { return string(e) }

func TestAJobHasRoomForSoMuch(t *testing.T) {
	tail := aTail()
	for _, pod := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		random := make([]byte, kept.MaxLog)
		_, _ = rand.Read(random)
		add(t, tail, pod, "main", string(random))
	}
	add(t, tail, "k", "main", "short")
	if len(tail.Entries) != 8 || len(tail.LeftOut) != 3 || tail.LeftOut[0] != "h/main: no room" {
		t.Errorf("%d entries, %v", len(tail.Entries), tail.LeftOut)
	}
	cm, err := tail.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := cm.Marshal()
	if len(raw) > 1<<20 {
		t.Errorf("%d bytes are more than a ConfigMap may have", len(raw))
	}
}

func TestNamesAreThoseOfObjectsAndOfNoOtherWorkload(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"train", strings.Repeat("x", 253), strings.Repeat("x", 235) + "." + strings.Repeat("y", 17)} {
		for _, uid := range []types.UID{"u1", "u2"} {
			got := kept.Name(name, uid)
			if len(validation.IsDNS1123Subdomain(got)) > 0 || seen[got] {
				t.Errorf("%s: %s", name, got)
			}
			seen[got] = true
		}
	}
	tail := aTail()
	add(t, tail, strings.Repeat("x", 253), "main", "text")
	if tail.Entries[0].Key != "0.log.gz" {
		t.Errorf("key %q", tail.Entries[0].Key)
	}
}

func TestWhatOthersHavePutThereIsReadWithinBounds(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 1000 {
		_, _ = w.Write(make([]byte, kept.MaxLog))
	}
	_ = w.Close()
	tail := aTail()
	add(t, tail, "train-0", "main", "text")
	cm, err := tail.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	cm.BinaryData["train-0_main.log.gz"] = bomb.Bytes()
	got, err := kept.Read(cm)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := got.Text(got.Entries[0]); err != nil || len(text) != kept.MaxLog {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := got.Text(kept.Entry{Key: "none"}); err == nil {
		t.Error("read what is not there")
	}
	cm.Annotations[switchyard.LogTailEntriesAnnotation] = "{"
	if _, err := kept.Read(cm); err == nil {
		t.Error("read what cannot be read")
	}
	cm.Labels[switchyard.LogTailLabel] = "u2"
	if kept.IsOurs(&cm.ObjectMeta) {
		t.Error("a name that is not of this UID is taken for a hub's")
	}
}
