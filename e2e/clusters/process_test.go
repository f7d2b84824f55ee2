package clusters_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"switchyard.dev/e2e/clusters"
)

// startCounting starts a child that writes a line to its log and ends, until it has done so the given number of times.
func startCounting(t *testing.T, ends, restarts int) (process *clusters.Process, lives func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	script := fmt.Sprintf(`echo life; [ $(wc -l < %s) -gt %d ] && exec sleep 600; exit 3`, log, ends)
	process, err := clusters.StartProcess(clusters.Command{Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Log: log, Restarts: restarts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
	})
	return process, func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("life"))
	}
}

func TestAProcessThatEndsByItselfIsStartedAgainAsOftenAsAsked(t *testing.T) {
	process, lives := startCounting(t, 2, 2)
	eventually(t, "the third child runs", func() error {
		if n := lives(); n != 3 {
			return fmt.Errorf("%d children", n)
		}
		return nil
	})
	if exited, err := process.Exited(); exited {
		t.Errorf("ended with %v", err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if exited, err := process.Exited(); !exited || err == nil || lives() != 3 {
		t.Errorf("killed: ended %t with %v, %d children", exited, err, lives())
	}
}

func TestAProcessThatEndsOnceMoreThanThatHasEnded(t *testing.T) {
	process, lives := startCounting(t, 2, 1)
	<-process.Done()
	if exited, err := process.Exited(); !exited || err == nil || lives() != 2 {
		t.Errorf("ended %t with %v, %d children", exited, err, lives())
	}
}
