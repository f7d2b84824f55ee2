package images

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// compile builds the program for the platform into the directory and returns its path. Paths of this machine, symbols and
// the linker's own id stay out of it; what it was built from stays in.
func compile(ctx context.Context, s Spec, p Platform, dir string) (string, error) {
	out, err := filepath.Abs(filepath.Join(dir, s.program()+"-"+p.OS+"-"+p.Arch))
	if err != nil {
		return "", fmt.Errorf("place for %s: %w", s.Package, err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -buildid=", "-o", out, s.Package)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOAMD64=v1", "GOARM64=v8.0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w\n%s", s.Package, p, err, said.String())
	}
	return out, nil
}
