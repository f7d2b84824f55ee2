package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PathPrefix is the only directory below which kubeconfig files are read (contract: multikueue.md 0).
const PathPrefix = "/etc/multikueue/kubeconfigs"

// ReadPath reads a kubeconfig file below prefix, following symbolic links first, so that a link cannot lead out of it
// (contract: multikueue.md 2, "Path rules"). With an empty prefix, the file may be anywhere.
func ReadPath(prefix, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("kubeconfig path must not be empty")
	}
	file := path
	if prefix != "" {
		var err error
		if file, err = below(prefix, path); err != nil {
			return nil, err
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return raw, nil
}

// below resolves a path and says where in the rules it fails.
func below(prefix, path string) (string, error) {
	if slices.Contains(strings.Split(filepath.Clean(path), string(filepath.Separator)), "..") {
		return "", fmt.Errorf("kubeconfig path contains \"..\": %q", path)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("kubeconfig path must be absolute: %q", path)
	}
	root, err := filepath.EvalSymlinks(prefix)
	if err != nil {
		return "", fmt.Errorf("resolve the kubeconfig prefix: %w", err)
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("resolve the kubeconfig path: %w", err)
	}
	if !strings.HasPrefix(file, root+string(filepath.Separator)) {
		return "", fmt.Errorf("kubeconfig path is not under the allowed prefix: %q is not under %q", path, prefix)
	}
	return file, nil
}
