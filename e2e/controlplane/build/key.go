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
)

// sources are those of this program that decide how to build: another way is another set of binaries.
//
//go:embed ensure.go programs.go
var sources embed.FS

// cacheRoot is the directory under which every set of binaries has its own.
func cacheRoot() (string, error) {
	base := os.Getenv("SWITCHYARD_CACHE")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cache directory (set SWITCHYARD_CACHE): %w", err)
		}
		base = filepath.Join(home, ".cache", "switchyard")
	}
	return filepath.Abs(filepath.Join(base, "controlplane"))
}

// key names a set of binaries by everything they are made from: the pinned modules, the way they are
// built, the Go release and platform, and the programs taken from elsewhere.
func key(taken map[string]string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("not in the directory of the controlplane module: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	if err := hashSources(hash); err != nil {
		return "", err
	}
	for _, p := range programs {
		path, ok := taken[p.name]
		if !ok {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", fmt.Errorf("program taken from KUBEBUILDER_ASSETS: %w", err)
		}
		fmt.Fprintln(hash, p.name, path, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func hashSources(into io.Writer) error {
	return fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(into, "%s %d\n%s", path, len(data), data)
		return err
	})
}

// takenFrom finds the programs that exist in a directory; "" has none.
func takenFrom(assets string) map[string]string {
	taken := map[string]string{}
	if assets == "" {
		return taken
	}
	for _, p := range programs {
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
