package clusters

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOnlyDirectoriesOfDeadRunsAreSwept(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{tempPrefix + "dead", tempPrefix + "alive", "of-others"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockFile(filepath.Join(parent, tempPrefix+"alive", lockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := sweep(parent, time.Now()); err != nil {
		t.Fatal(err)
	}
	want(t, parent, tempPrefix+"dead", true) // too young
	if err := sweep(parent, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want(t, parent, tempPrefix+"dead", false)
	want(t, parent, tempPrefix+"alive", true)
	want(t, parent, "of-others", true)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, parent, name string, exists bool) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(parent, name)); (err == nil) != exists {
		t.Errorf("%s: %v; want exists=%t", name, err, exists)
	}
}
