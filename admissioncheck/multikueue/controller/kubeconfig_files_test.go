package controller

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// filesStage watches kubeconfig files of a temporary directory.
type filesStage struct {
	*testing.T
	files *kubeconfigFiles
	told  chan string
}

func newFilesStage(t *testing.T) *filesStage {
	t.Helper()
	st := &filesStage{T: t, told: make(chan string, 100)}
	files, err := watchKubeconfigFiles(func(cluster string) { st.told <- cluster })
	if err != nil {
		t.Fatal(err)
	}
	st.files = files
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

// await waits until a cluster was told of.
func (st *filesStage) await(cluster string) {
	st.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case got := <-st.told:
			if got == cluster {
				return
			}
		case <-deadline:
			st.Fatalf("nobody was told that the file of %s changed", cluster)
		}
	}
}

// quiet forgets what was told until now.
func (st *filesStage) quiet() {
	for len(st.told) > 0 {
		<-st.told
	}
}

func (st *filesStage) write(path, content string) {
	st.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		st.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		st.Fatal(err)
	}
}

func TestAKubeconfigFileThatAppearsChangesOrGoesIsNoticed(t *testing.T) {
	st := newFilesStage(t)
	path := filepath.Join(t.TempDir(), "w1")
	st.files.follow("w1", path)
	st.write(path, "first")
	st.await("w1")
	st.quiet()
	st.write(path, "second")
	st.await("w1")
	st.quiet()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	st.await("w1")
}

func TestAKubeconfigFileBelowADirectoryThatDoesNotExistYetIsNoticed(t *testing.T) {
	st := newFilesStage(t)
	path := filepath.Join(t.TempDir(), "later", "w1")
	st.files.follow("w1", path)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	st.await("w1")
	st.quiet()
	st.files.follow("w1", path) // as the controller does when it is told
	st.write(path, "content")
	st.await("w1")
}

// A mounted Secret is a link to a link: the kubelet replaces "..data".
func TestAMountedKubeconfigIsNoticedWhenItsVolumeIsReplaced(t *testing.T) {
	st := newFilesStage(t)
	root := t.TempDir()
	st.write(filepath.Join(root, "1", "w1"), "first")
	st.write(filepath.Join(root, "2", "w1"), "second")
	for at, to := range map[string]string{"..data": "1", "w1": filepath.Join("..data", "w1")} {
		if err := os.Symlink(to, filepath.Join(root, at)); err != nil {
			t.Fatal(err)
		}
	}
	st.files.follow("w1", filepath.Join(root, "w1"))
	if err := os.Symlink("2", filepath.Join(root, "..new")); err != nil {
		t.Fatal(err)
	}
	st.quiet()
	if err := os.Rename(filepath.Join(root, "..new"), filepath.Join(root, "..data")); err != nil {
		t.Fatal(err)
	}
	st.await("w1")
}

func TestOneFileMayServeManyClustersAndOneThatIsNoLongerNamedNone(t *testing.T) {
	st := newFilesStage(t)
	path := filepath.Join(t.TempDir(), "shared")
	st.files.follow("w1", path)
	st.files.follow("w2", path)
	if got := st.files.inside(filepath.Dir(path)); len(got) != 2 {
		t.Errorf("clusters of the directory: %v", got)
	}
	st.files.follow("w1", "")
	st.write(path, "content")
	st.await("w2")
	st.files.follow("w2", "")
	if got := st.files.watcher.WatchList(); len(got) != 0 {
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
		if got := allowedFile("/etc/kubeconfigs/", path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := allowedFile("", "/anywhere/w1"); got != "/anywhere/w1" {
		t.Errorf("without a prefix: %q", got)
	}
	if got := directoriesOf("/none/of/this"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("nothing exists: %v", got)
	}
}
