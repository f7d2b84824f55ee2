package kubeconfig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// PathPrefix is the only directory below which kubeconfig files are read (contract: multikueue.md 0).
const PathPrefix = "/etc/multikueue/kubeconfigs"

// ReadPath reads a kubeconfig file below prefix, following symbolic links first, so that a link cannot lead out of it
// (contract: multikueue.md 2, "Path rules"). With an empty prefix, the file may be anywhere. Errors of the file system are
// returned as they are, but only for files below the prefix: whether other files exist is not revealed.
func ReadPath(prefix, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("kubeconfig path must not be empty")
	}
	file := path
	if prefix != "" {
		var err error
		if file, err = resolveBelow(prefix, path); err != nil {
			return nil, err
		}
	}
	return readBounded(file)
}

// MaxSize is the largest kubeconfig, in bytes: that of a Secret.
const MaxSize = 1 << 20

// readBounded reads a file as os.ReadFile does, and says the same of one that cannot be read. A pipe or a device is refused, since it
// may have no end, or never begin.
func readBounded(file string) ([]byte, error) {
	opened, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", file), err)
	}
	raw, err := io.ReadAll(io.LimitReader(opened, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("%s has more than %d bytes", file, MaxSize)
	}
	return raw, nil
}

// resolveBelow resolves a path and says where in the rules it fails.
func resolveBelow(prefix, path string) (string, error) {
	if slices.Contains(strings.Split(filepath.Clean(path), string(filepath.Separator)), "..") {
		return "", errors.New(`kubeconfig path contains ".."`)
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("kubeconfig path must be absolute")
	}
	outside := fmt.Errorf("kubeconfig path is not under the allowed prefix: %q is not under %q", path, prefix)
	root, err := filepath.EvalSymlinks(prefix)
	if err != nil {
		root = prefix // nothing lies below it
	}
	if !isBelow(prefix, path) && !isBelow(root, path) {
		return "", outside
	}
	file, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil:
		return "", err
	case !isBelow(root, file):
		return "", outside
	}
	return file, nil
}

// isBelow tells whether a path, as it is written, lies below a directory.
func isBelow(dir, path string) bool {
	return strings.HasPrefix(filepath.Clean(path), filepath.Clean(dir)+string(filepath.Separator))
}
