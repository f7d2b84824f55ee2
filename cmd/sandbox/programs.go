package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"switchyard.dev/e2e/clusters"
)

// findPrograms is the directory with the programs hub and worker: the given one, else the sandbox's own if they lie
// beside it, else one under dir into which they are built from the source tree.
func findPrograms(ctx context.Context, given, dir string, out io.Writer) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if self, err := os.Executable(); err == nil && hasPrograms(filepath.Dir(self)) {
		return filepath.Dir(self), nil
	}
	root, err := clusters.SourceRoot()
	if err != nil {
		return "", fmt.Errorf("no programs hub and worker beside the sandbox, and no sources to build them from: %w", err)
	}
	fmt.Fprintln(out, "building the programs hub and worker")
	built := filepath.Join(dir, "bin")
	cmd := exec.CommandContext(ctx, "go", "-C", root, "build", "-trimpath", "-o", built+string(filepath.Separator), "./cmd/hub", "./cmd/worker")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return built, nil
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"hub", "worker"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}
