package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheKeyChangesWithWhatIsTakenFromElsewhere(t *testing.T) {
	t.Chdir("..") // the module's directory, where the program runs
	none, err := controlPlane.key(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := controlPlane.key(nil)
	if err != nil || again != none {
		t.Errorf("the same inputs have keys %s and %s (%v)", none, again, err)
	}
	etcd := filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(etcd, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	taken, err := controlPlane.key(map[string]string{"etcd": etcd})
	if err != nil || taken == none {
		t.Errorf("the key is %s with and without an etcd of another's (%v)", taken, err)
	}
}

func TestOnlyProgramsThatCanRunAreTaken(t *testing.T) {
	assets := t.TempDir()
	for name, mode := range map[string]os.FileMode{"etcd": 0o755, "kubectl": 0o644, "other": 0o755} {
		if err := os.WriteFile(filepath.Join(assets, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	taken := controlPlane.takenFrom(assets)
	if len(taken) != 1 || taken["etcd"] != filepath.Join(assets, "etcd") {
		t.Errorf("taken: %v; want etcd only", taken)
	}
}

func TestKubernetesProgramsReportTheVersionTheyWereBuiltFrom(t *testing.T) {
	for _, p := range programs {
		flags := p.ldflags("v1.37.2")
		if p.module != kubernetes {
			continue
		}
		for _, want := range []string{"component-base/version.gitVersion=v1.37.2", "version.gitMajor=1 ", "version.gitMinor=37 "} {
			if !strings.Contains(flags, want) {
				t.Errorf("%s: flags %q lack %s", p.name, flags, want)
			}
		}
	}
}

func TestASecondBuildWaitsForTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	waits, writer := io.Pipe()
	second := make(chan error)
	go func() {
		unlockSecond, err := lock(path, writer)
		if err == nil {
			unlockSecond()
		}
		second <- errors.Join(err, writer.Close())
	}()
	if _, err := waits.Read(make([]byte, 100)); err != nil {
		t.Errorf("the second got the lock without waiting (%v)", err)
	}
	unlock()
	if err := <-second; err != nil {
		t.Error(err)
	}
}
