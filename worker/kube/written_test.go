package kube

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func versioned(uid, version string) *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

func TestACacheIsBehindUntilItShowsOurWriteOrALaterOne(t *testing.T) {
	var w Written
	w.Note(versioned("a", "20"), noon)
	for _, c := range []struct {
		name string
		seen *kueue.Workload
		at   time.Time
		want bool
	}{
		{"an object that we did not write is as new as it gets", versioned("b", "1"), noon, false},
		{"an older version is behind", versioned("a", "9"), noon, true},
		{"our own is not", versioned("a", "20"), noon, false},
		{"what was caught up with is forgotten", versioned("a", "9"), noon, false},
	} {
		if got := w.NewerThan(c.seen, c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	w.Note(versioned("a", "20"), noon)
	if w.NewerThan(versioned("a", "9"), noon.Add(2*CatchUp)) {
		t.Error("waits for a cache that will never catch up")
	}
	w.Note(versioned("", ""), noon)
	if len(w.versions) != 0 {
		t.Errorf("remembers %v", w.versions)
	}
}

func TestWritesOfObjectsThatAreGoneAreForgotten(t *testing.T) {
	var w Written
	for i := range 100 * sweepFrom {
		w.Note(versioned(strconv.Itoa(i), "1"), noon.Add(time.Duration(i)*CatchUp/sweepFrom))
	}
	if n := len(w.versions); n > 3*sweepFrom {
		t.Errorf("remembers %d writes", n)
	}
}
