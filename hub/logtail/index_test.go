package logtail

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/hub/logtail/kept"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func minutesAfter(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

// indexOf is a tailIndex of "namespace/name" by the minutes after start at which they were made.
func indexOf(maxJobs int, maxAge time.Duration, tails map[string]int) *tailIndex {
	s := newTailIndex(maxJobs, maxAge)
	for text, at := range tails {
		s.put(key(text), minutesAfter(at))
	}
	return s
}

func key(text string) client.ObjectKey {
	namespace, name, _ := strings.Cut(text, "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func TestWhichTailsGo(t *testing.T) {
	for _, c := range []struct {
		name    string
		maxJobs int
		tails   map[string]int
		want    []string
	}{
		{"none, while there is room", 3, map[string]int{"a/1": 0, "a/2": 1, "b/1": 2}, nil},
		{"the oldest one", 2, map[string]int{"a/1": 1, "a/2": 0, "a/3": 2}, []string{"a/2"}},
		{"the oldest one of the namespace that has most", 3, map[string]int{"a/1": 0, "b/1": 2, "b/2": 3, "b/3": 4}, []string{"b/1"}},
		{"as many as are too many", 2, map[string]int{"a/1": 0, "b/1": 2, "b/2": 3, "b/3": 4}, []string{"b/1", "b/2"}},
		{"of two namespaces with as many, the oldest of all", 3, map[string]int{"a/1": 0, "a/2": 7, "b/1": 2, "b/2": 3}, []string{"a/1"}},
		{"those that are too old first", 2, map[string]int{"a/1": -60, "a/2": 1, "b/1": 2, "a/3": 3}, []string{"a/1", "a/2"}},
	} {
		s := indexOf(c.maxJobs, time.Hour, c.tails)
		var got []string
		for _, gone := range s.overdue(start) {
			got = append(got, gone.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}

func TestWhatWouldGoNextIsNotKept(t *testing.T) {
	for _, c := range []struct {
		name       string
		tails      map[string]int
		key        string
		finishedAt int
		want       bool
	}{
		{"there is room", map[string]int{"a/1": 10}, "a/2", 0, true},
		{"it is younger than another", map[string]int{"a/1": 10, "a/2": 12}, "a/3", 11, true},
		{"it is older than all others", map[string]int{"a/1": 10, "a/2": 12}, "a/3", 9, false},
		{"it is older, and of a namespace that has less", map[string]int{"a/1": 10, "a/2": 12}, "b/1", 9, true},
		{"it is too old for any", nil, "a/1", -60, false},
	} {
		if got := indexOf(2, time.Hour, c.tails).isWorthKeeping(key(c.key), minutesAfter(c.finishedAt), start); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// What is put there while the API server makes its list is not forgotten because it is not in it.
func TestAListForgetsNothingThatIsNewer(t *testing.T) {
	s := indexOf(10, time.Hour, map[string]int{"a/gone": 0})
	s.beginList()
	s.put(key("a/new"), start)
	s.endList(map[client.ObjectKey]time.Time{key("a/old"): start})
	for text, want := range map[string]bool{"a/gone": false, "a/new": true, "a/old": true} {
		if s.has(key(text)) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}

func TestTheRingHoldsTheEnd(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for _, c := range []struct {
		name, text, want string
		cut              bool
	}{
		{"nothing", "", "", false},
		{"less than it holds", "hello\n", "hello\n", false},
		{"just as much", strings.Repeat("a", kept.MaxLog), strings.Repeat("a", kept.MaxLog), false},
		{"more, in lines", strings.Repeat(line, 2000) + "the end", strings.Repeat(line, 655) + "the end", true},
		{"more, in one line", strings.Repeat("a", kept.MaxLog) + "b", strings.Repeat("a", kept.MaxLog-1) + "b", true},
	} {
		for _, size := range []int{7, chunk, len(c.text) + 1} {
			r := &ring{}
			for rest := []byte(c.text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = r.Write(rest[:min(size, len(rest))])
			}
			if got := r.text(); !bytes.Equal(got, []byte(c.want)) || r.cut() != c.cut {
				t.Errorf("%s: %s of %d bytes, cut %t", c.name, fmt.Sprintf("%.20q", got), len(got), r.cut())
			}
		}
	}
}
