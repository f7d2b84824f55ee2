package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func someRows() []row {
	return []row{
		{request: request{Namespace: "vision", Name: "segment-1", Priority: "normal", Class: "H100", Pods: 2, GPUs: 2}, State: finished, Cluster: "w1", Flavor: "h100", Up: 2},
		{request: request{Namespace: "language", Name: "pretrain-1", Priority: "urgent", Class: "A100", Pods: 2, GPUs: 4, JobSet: true}, State: running, Cluster: "w2", Flavor: "a100", Up: 3},
		{request: request{Namespace: "vision", Name: "sweep-1", Priority: "background", Pods: 3, GPUs: 2}, State: queued, Why: "insufficient unused quota for nvidia.com/gpu"},
	}
}

func TestTheTableShowsEveryJobAndWhyItWaits(t *testing.T) {
	got := table(someRows(), 12*time.Second, 0, 0)
	want := []string{
		"1 finished, 1 running, 1 queued after 12 s",
		"",
		"JOB                  KIND    PRIORITY    GPUS      STATE     CLUSTER  FLAVOR  PODS  WHY IT WAITS",
		"vision/segment-1     Job     normal      2x2 H100  Finished  w1       h100    2/2",
		"language/pretrain-1  JobSet  urgent      2x4 A100  Running   w2       a100    3/3",
		"vision/sweep-1       Job     background  3x2 any   Queued    -        -       0/3   insufficient unused quota for nvidia.com/gpu",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASmallTerminalShowsWhatIsStillUnderWay(t *testing.T) {
	got := table(someRows(), 0, 30, 6)
	if len(got) > 6 {
		t.Errorf("%d lines; want at most 6", len(got))
	}
	text := strings.Join(got, "\n")
	if !strings.Contains(text, "sweep-1") || !strings.Contains(text, "pretrain-1") || strings.Contains(text, "segment-1") {
		t.Errorf("want the jobs under way and not the finished one:\n%s", text)
	}
	if got[len(got)-1] != "... and 1 more" {
		t.Errorf("the last line is %q; want the number of those not shown", got[len(got)-1])
	}
	for _, line := range got {
		if n := len([]rune(line)); n > 30 {
			t.Errorf("a line of %d runes does not fit: %q", n, line)
		}
	}
}

func TestALineIsPrintedForAChangeOfStateButNotOfReason(t *testing.T) {
	before := someRows()
	after := someRows()
	after[2].Why = "another reason"
	if got := changes(before, after, time.Second); got != nil {
		t.Errorf("a change of reason printed %q", got)
	}
	after[2].State, after[2].Cluster, after[2].Flavor, after[2].Why = running, "w1", "l4", ""
	got := changes(before, after, 1500*time.Millisecond)
	want := []string{"  1.5s  vision/sweep-1       Running   on w1 l4, pods 0/3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheScreenReplacesItsOwnLinesOnly(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out}
	s.redraw([]string{"a", "b"})
	s.redraw([]string{"c"})
	want := "a\x1b[K\nb\x1b[K\n\x1b[J" + "\x1b[2Ac\x1b[K\n\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
