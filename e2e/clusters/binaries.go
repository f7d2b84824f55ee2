package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// BinariesVariable names the environment variable that points at a directory made by the builder
// in e2e/controlplane; with it no source tree and no Go toolchain are needed.
const BinariesVariable = "SWITCHYARD_CONTROLPLANE"

// Binaries is a directory of control plane programs: bin/ and the manifests they need.
type Binaries struct{ Dir string }

// Program is the path of one of them, such as "kube-apiserver" or "kubectl".
func (b Binaries) Program(name string) string { return filepath.Join(b.Dir, "bin", name) }

func (b Binaries) manifest(parts ...string) string {
	return filepath.Join(append([]string{b.Dir, "manifests"}, parts...)...)
}

// FindBinaries is the directory that BinariesVariable names, else the builder's, which builds it when
// it is missing (minutes; its progress goes to the writer). It needs the source tree around the
// working directory. Go runs tests in their package's directory, so tests have it.
func FindBinaries(ctx context.Context, progress io.Writer) (Binaries, error) {
	if dir := os.Getenv(BinariesVariable); dir != "" {
		return Binaries{Dir: dir}, nil
	}
	return build(ctx, progress)
}

// found are the directories of operators that the builder has told, which does not have to be asked for every cluster.
var found = struct {
	sync.Mutex
	operators map[Operator]Binaries
}{operators: map[Operator]Binaries{}}

// findOperator is the builder's directory of an operator, which it builds when it is missing, as FindBinaries does.
func findOperator(ctx context.Context, name Operator, progress io.Writer) (Binaries, error) {
	found.Lock()
	defer found.Unlock()
	if binaries, ok := found.operators[name]; ok {
		return binaries, nil
	}
	binaries, err := build(ctx, progress, string(name))
	if err == nil {
		found.operators[name] = binaries
	}
	return binaries, err
}

// build runs the builder: for the control plane if no name is given, else for an operator.
func build(ctx context.Context, progress io.Writer, name ...string) (Binaries, error) {
	root, err := SourceRoot()
	if err != nil {
		return Binaries{}, err
	}
	args := []string{"-C", filepath.Join(root, "e2e", "controlplane"), "run", "./build"}
	cmd := exec.CommandContext(ctx, "go", append(args, name...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = progress
	if err := cmd.Run(); err != nil {
		return Binaries{}, fmt.Errorf("building the programs of clusters: %w", err)
	}
	return Binaries{Dir: strings.TrimSpace(out.String())}, nil
}

// SourceRoot is the nearest directory above the working directory that holds e2e/controlplane.
func SourceRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "e2e", "controlplane", "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for the source tree: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no source tree around the working directory: run within it, or set %s", BinariesVariable)
		}
		dir = parent
	}
}

// Kubectl is the path of the kubectl that belongs to the cluster's API server.
func (c *Cluster) Kubectl() string { return c.options.Binaries.Program("kubectl") }
