package clusters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"switchyard.dev/e2e/clusters"
)

// childVariable makes this test binary the program that is killed: it starts a cluster, says which
// processes that made, and waits for its end.
const childVariable = "SWITCHYARD_TEST_PARENT"

func runAsParent() int {
	c, err := clusters.Start(context.Background(), clusters.Options{
		Name:  "orphans",
		Dir:   os.Getenv(childVariable),
		Nodes: []clusters.NodePool{{Name: "cpu", Count: 1}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(c.PIDs()); err != nil {
		return 1
	}
	select {}
}

func TestKillingTheParentLeavesNoProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells children of their parent's death")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), childVariable+"="+t.TempDir())
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	decodeErr := json.NewDecoder(out).Decode(&pids)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // "signal: killed"
	if decodeErr != nil || len(pids) < 5 {
		t.Fatalf("the parent started processes %v (%v); want etcd, API server, controllers, scheduler and kwok", pids, decodeErr)
	}
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() error { return hasExited(pid) })
	}
}

// hasExited also takes a process for gone that has ended and that its parent has not waited for yet.
func hasExited(pid int) error {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || bytes.Contains(stat, []byte(") Z ")) {
		return nil
	}
	return fmt.Errorf("still there: %s", stat)
}
