package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// sources are those of this program that decide how to build: another way is another set of binaries.
//
//go:embed ensure.go programs.go
var sources embed.FS

// cacheRoot is the directory under which every set has its own.
func cacheRoot() (string, error) {
	base := os.Getenv("SWITCHYARD_CACHE")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cache directory (set SWITCHYARD_CACHE): %w", err)
		}
		base = filepath.Join(home, ".cache", "switchyard")
	}
	return filepath.Abs(base)
}

// key names a build of a set by everything it is made from: the pinned modules, the way it is built, the Go release and
// platform, sources of ours, and the programs taken from elsewhere.
func (s set) key(taken map[string]string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s %s %+v\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, s)
	pinned := os.DirFS(s.module)
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := hashFile(hash, pinned, name); err != nil {
			return "", fmt.Errorf("not in the directory of the controlplane module: %w", err)
		}
	}
	if err := hashTree(hash, sources, "."); err != nil {
		return "", err
	}
	for _, p := range s.programs {
		if err := p.hash(hash, pinned, taken[p.name]); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// hash adds what a program is made from, if that is not a pinned module: a file elsewhere, or sources of ours.
func (p program) hash(into io.Writer, module fs.FS, taken string) error {
	if taken != "" {
		info, err := os.Stat(taken)
		if err != nil {
			return fmt.Errorf("program taken from KUBEBUILDER_ASSETS: %w", err)
		}
		_, err = fmt.Fprintln(into, p.name, taken, info.Size(), info.ModTime().UnixNano())
		return err
	}
	if strings.HasPrefix(p.pkg, "./") { // it may import others of ours
		return hashTree(into, module, ".")
	}
	return nil
}

func hashTree(into io.Writer, files fs.FS, root string) error {
	return fs.WalkDir(files, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return hashFile(into, files, path)
	})
}

func hashFile(into io.Writer, files fs.FS, path string) error {
	data, err := fs.ReadFile(files, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(into, "%s %d\n%s", path, len(data), data)
	return err
}

// takenFrom finds the programs that exist in a directory; "" has none.
func (s set) takenFrom(assets string) map[string]string {
	taken := map[string]string{}
	if assets == "" {
		return taken
	}
	for _, p := range s.programs {
		path, err := filepath.Abs(filepath.Join(assets, p.name))
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			taken[p.name] = path
		}
	}
	return taken
}
