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
// (contract: multikueue.md 2, "Path rules").
func ReadPath(prefix, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("kubeconfig path must not be empty")
	}
	if slices.Contains(strings.Split(filepath.Clean(path), string(filepath.Separator)), "..") {
		return nil, fmt.Errorf("kubeconfig path %q contains \"..\"", path)
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("kubeconfig path %q must be absolute", path)
	}
	root, err := filepath.EvalSymlinks(prefix)
	if err != nil {
		return nil, fmt.Errorf("resolve the kubeconfig prefix: %w", err)
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("resolve the kubeconfig path: %w", err)
	}
	if !strings.HasPrefix(file, root+string(filepath.Separator)) {
		return nil, fmt.Errorf("kubeconfig path is not under the allowed prefix: %q is not under %q", path, prefix)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return raw, nil
}
