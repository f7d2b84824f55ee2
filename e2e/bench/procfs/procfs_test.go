package procfs

import (
	"os"
	"testing"
	"time"
)

func TestWhatAProcessUsesIsRead(t *testing.T) {
	p, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.Peak < 1<<20 || p.Name == "" {
		t.Errorf("this process is %+v", p)
	}
	cpu, err := parseCPU("12 (a name) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0")
	if err != nil || cpu != 2*time.Second {
		t.Errorf("CPU time is %s, error %v", cpu, err)
	}
	if _, err := parseCPU("12 (short) R 1"); err == nil {
		t.Error("a short line is no error")
	}
}
