package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeKubeconfig makes a directory with a file "w1" in it.
func writeKubeconfig(t *testing.T, dir, content string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "w1"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func makeSymlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// The directory is a mount: it, and everything in it, may be links.
func TestAPrefixThatIsALinkIsThePlaceItPointsTo(t *testing.T) {
	root := t.TempDir()
	writeKubeconfig(t, filepath.Join(root, "volume", "2026_11_21"), "inside")
	writeKubeconfig(t, filepath.Join(root, "secret"), "outside")
	prefix := filepath.Join(root, "prefix")
	makeSymlink(t, filepath.Join(root, "volume"), prefix)
	makeSymlink(t, "2026_11_21", filepath.Join(root, "volume", "..data"))
	makeSymlink(t, filepath.Join("..data", "w1"), filepath.Join(root, "volume", "w1"))
	makeSymlink(t, filepath.Join(root, "secret"), filepath.Join(root, "volume", "way-out"))
	for path, want := range map[string]string{
		filepath.Join(prefix, "w1"):            "inside",
		filepath.Join(prefix, "..data", "w1"):  "inside",
		filepath.Join(root, "volume", "w1"):    "inside",
		prefix + "/../prefix/w1":               "inside",
		filepath.Join(prefix, "way-out", "w1"): "kubeconfig path is not under the allowed prefix: ",
		prefix + "/../secret/w1":               "kubeconfig path is not under the allowed prefix: ",
	} {
		raw, err := ReadPath(prefix, path)
		switch got := string(raw); {
		case want == "inside" && (err != nil || got != want):
			t.Errorf("%s: %q, error %v", path, got, err)
		case want != "inside" && (err == nil || !strings.HasPrefix(err.Error(), want) || got != ""):
			t.Errorf("%s: %q, error %v, want %q", path, got, err, want)
		}
	}
}

func TestAPrefixThatDoesNotExistAllowsNothing(t *testing.T) {
	root := t.TempDir()
	writeKubeconfig(t, root, "content")
	if _, err := ReadPath(filepath.Join(root, "none"), filepath.Join(root, "w1")); err == nil {
		t.Error("a file was read")
	}
}

func TestWithoutAPrefixAFileMayBeAnywhere(t *testing.T) {
	root := t.TempDir()
	writeKubeconfig(t, root, "content")
	if raw, err := ReadPath("", filepath.Join(root, "w1")); err != nil || string(raw) != "content" {
		t.Errorf("%q, error %v", raw, err)
	}
	if _, err := ReadPath("", ""); err == nil || err.Error() != "kubeconfig path must not be empty" {
		t.Errorf("error %v", err)
	}
	if _, err := ReadPath("", root); err == nil {
		t.Error("a directory was read")
	}
}

func TestAKubeconfigFileIsOneAndIsBounded(t *testing.T) {
	root := t.TempDir()
	pipe, big := filepath.Join(root, "pipe"), filepath.Join(root, "big")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, make([]byte, MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "not a regular file", "/dev/zero": "not a regular file", big: "more than 1048576 bytes"} {
		if _, err := ReadPath("", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}
