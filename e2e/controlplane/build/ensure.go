package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// complete marks a directory in which nothing is missing; it is written last.
const complete = "complete"

// ensure returns the directory with all of a set, building what is missing. Programs found in the directory of assets,
// if one is given, are taken from there. Two that run at once do not both build: the second waits for the first. An
// interrupted build goes on where it was.
func ensure(ctx context.Context, s set, assets string, progress io.Writer) (string, error) {
	taken := s.takenFrom(assets)
	name, err := s.key(taken)
	if err != nil {
		return "", err
	}
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	root = filepath.Join(root, s.dir)
	dir := filepath.Join(root, name)
	if exists(filepath.Join(dir, complete)) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	unlock, err := lock(filepath.Join(root, name+".lock"), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(filepath.Join(dir, complete)) {
		return dir, nil
	}
	b := builder{set: s, dir: dir, taken: taken, progress: progress}
	if err := b.all(ctx); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, complete), nil, 0o644); err != nil {
		return "", fmt.Errorf("marking the build as complete: %w", err)
	}
	return dir, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lock is released by the kernel when this process ends, however it ends.
func lock(path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of the cache: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		fmt.Fprintln(progress, "waiting for another build of the same to finish")
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock of the cache: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

type builder struct {
	set      set
	dir      string
	taken    map[string]string
	progress io.Writer
}

func (b builder) all(ctx context.Context) error {
	fmt.Fprintf(b.progress, "building %d programs into %s (once; %s)\n", len(b.set.programs), b.dir, b.set.lasts)
	for i, p := range b.set.programs {
		fmt.Fprintf(b.progress, "[%d/%d] %s ... ", i+1, len(b.set.programs), p.name)
		start := time.Now()
		how, err := b.one(ctx, p)
		if err != nil {
			fmt.Fprintln(b.progress, "failed")
			return fmt.Errorf("building %s: %w", p.name, err)
		}
		fmt.Fprintf(b.progress, "%s%.0f s\n", how, time.Since(start).Seconds())
	}
	for _, m := range b.set.manifests {
		if err := b.copyManifest(ctx, m); err != nil {
			return fmt.Errorf("copying %s: %w", m.target, err)
		}
	}
	return nil
}

// one puts a program in place under a temporary name and renames it, so that a file in bin/ is whole.
func (b builder) one(ctx context.Context, p program) (how string, err error) {
	target := filepath.Join(b.dir, "bin", p.name)
	if exists(target) {
		return "present, ", nil
	}
	if path, ok := b.taken[p.name]; ok {
		return "taken from " + path + ", ", os.Symlink(path, target)
	}
	var version string
	if p.module != "" {
		if version, err = b.output(ctx, "go", "list", "-m", "-f", "{{.Version}}", p.module); err != nil {
			return "", err
		}
	}
	part := target + ".part"
	_, err = b.output(ctx, "go", "build", "-trimpath", "-ldflags", p.ldflags(version), "-o", part, p.pkg)
	if err != nil {
		return "", err
	}
	return "", os.Rename(part, target)
}

func (b builder) copyManifest(ctx context.Context, m manifest) error {
	module, err := b.output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", m.module)
	if err != nil {
		return err
	}
	target := filepath.Join(b.dir, "manifests", m.target)
	if !strings.Contains(m.path, "*") {
		return copyFile(filepath.Join(module, m.path), target)
	}
	paths, err := filepath.Glob(filepath.Join(module, m.path))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s has no files like %s", m.module, m.path)
	}
	for _, path := range paths {
		if err := copyFile(path, filepath.Join(target, filepath.Base(path))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// output runs a command of the go tool in the set's module, without cgo and outside any workspace; its error carries
// what the command said.
func (b builder) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.set.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}
