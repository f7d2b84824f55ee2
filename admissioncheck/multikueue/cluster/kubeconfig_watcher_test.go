package cluster

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"switchyard.dev/worker/kube/polltest"
)

// kubeconfigEnv watches kubeconfig files of a temporary directory.
type kubeconfigEnv struct {
	*testing.T
	watcher *kubeconfigWatcher
	changes chan string
}

func newKubeconfigEnv(t *testing.T) *kubeconfigEnv {
	t.Helper()
	st := &kubeconfigEnv{T: t, changes: make(chan string, 100)}
	files, err := newKubeconfigWatcher(func(cluster string) { st.changes <- cluster })
	if err != nil {
		t.Fatal(err)
	}
	st.watcher = files
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- files.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return st
}

// waitChange waits until a cluster was told of.
func (st *kubeconfigEnv) waitChange(cluster string) {
	st.Helper()
	told := polltest.Holds(st, func() bool {
		select {
		case got := <-st.changes:
			return got == cluster
		default:
			return false
		}
	})
	if !told {
		st.Fatalf("nobody was told that the file of %s changed", cluster)
	}
}

// discardChanges forgets what was told until now.
func (st *kubeconfigEnv) discardChanges() {
	for len(st.changes) > 0 {
		<-st.changes
	}
}

func (st *kubeconfigEnv) writeFile(path, content string) {
	st.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		st.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		st.Fatal(err)
	}
}

func TestAKubeconfigFileThatAppearsChangesOrGoesIsNoticed(t *testing.T) {
	st := newKubeconfigEnv(t)
	path := filepath.Join(t.TempDir(), "w1")
	st.watcher.watchFile("w1", path)
	st.writeFile(path, "first")
	st.waitChange("w1")
	st.discardChanges()
	st.writeFile(path, "second")
	st.waitChange("w1")
	st.discardChanges()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	st.waitChange("w1")
}

func TestAKubeconfigFileBelowADirectoryThatDoesNotExistYetIsNoticed(t *testing.T) {
	st := newKubeconfigEnv(t)
	path := filepath.Join(t.TempDir(), "later", "w1")
	st.watcher.watchFile("w1", path)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	st.waitChange("w1")
	st.discardChanges()
	st.watcher.watchFile("w1", path) // as the controller does when it is told
	st.writeFile(path, "content")
	st.waitChange("w1")
}

// A mounted Secret is a link to a link: the kubelet replaces "..data".
func TestAMountedKubeconfigIsNoticedWhenItsVolumeIsReplaced(t *testing.T) {
	st := newKubeconfigEnv(t)
	root := t.TempDir()
	st.writeFile(filepath.Join(root, "1", "w1"), "first")
	st.writeFile(filepath.Join(root, "2", "w1"), "second")
	for at, to := range map[string]string{"..data": "1", "w1": filepath.Join("..data", "w1")} {
		if err := os.Symlink(to, filepath.Join(root, at)); err != nil {
			t.Fatal(err)
		}
	}
	st.watcher.watchFile("w1", filepath.Join(root, "w1"))
	if err := os.Symlink("2", filepath.Join(root, "..new")); err != nil {
		t.Fatal(err)
	}
	st.discardChanges()
	if err := os.Rename(filepath.Join(root, "..new"), filepath.Join(root, "..data")); err != nil {
		t.Fatal(err)
	}
	st.waitChange("w1")
}

func TestOneFileMayServeManyClustersAndOneThatIsNoLongerNamedNone(t *testing.T) {
	st := newKubeconfigEnv(t)
	path := filepath.Join(t.TempDir(), "shared")
	st.watcher.watchFile("w1", path)
	st.watcher.watchFile("w2", path)
	if got := st.watcher.clustersWatching(filepath.Dir(path)); len(got) != 2 {
		t.Errorf("clusters of the directory: %v", got)
	}
	st.watcher.watchFile("w1", "")
	st.writeFile(path, "content")
	st.waitChange("w2")
	st.watcher.watchFile("w2", "")
	if got := st.watcher.watcher.WatchList(); len(got) != 0 {
		t.Errorf("still watched: %v", got)
	}
}

func TestAFileThatIsRefusedIsNotWatched(t *testing.T) {
	for path, want := range map[string]string{
		"/etc/kubeconfigs/w1":        "/etc/kubeconfigs/w1",
		"/etc/kubeconfigs/../passwd": "",
		"/etc/kubeconfigsaside/w1":   "",
		"w1":                         "",
	} {
		if got := allowedPath("/etc/kubeconfigs/", path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := allowedPath("", "/anywhere/w1"); got != "/anywhere/w1" {
		t.Errorf("without a prefix: %q", got)
	}
	if got := directoriesToWatch("/none/of/this"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("nothing exists: %v", got)
	}
}
