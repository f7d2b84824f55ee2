package manager

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// currentLink is the link to the present generation of a directory's files; each generation is a directory whose name begins
// with generations.
const (
	currentLink = "..data"
	generations = "..generation-"
)

// directory is the path of a directory whose files change together: each file is a link to the one of its name in ..data,
// itself a link to a directory that is complete before it is linked to. The kubelet lays out a mounted Secret likewise, so
// that a watcher of such files sees nothing new.
type directory string

type file struct {
	name string
	data []byte
}

// publish makes the files what the directory has, in their order where they were not there before, and tells whether they
// were different. Only the process itself may read them.
func (d directory) publish(files []file) (changed bool, err error) {
	if d.hasFiles(files) {
		return false, nil
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return false, fmt.Errorf("make the directory: %w", err)
	}
	generation, err := os.MkdirTemp(string(d), generations)
	if err != nil {
		return false, fmt.Errorf("make a directory in it: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(generation, f.name), f.data, 0o600); err != nil {
			return false, fmt.Errorf("write a file: %w", err)
		}
	}
	if err := d.link(currentLink, filepath.Base(generation)); err != nil {
		return false, err
	}
	for _, f := range files {
		if err := d.link(f.name, filepath.Join(currentLink, f.name)); err != nil {
			return false, err
		}
	}
	return true, d.removeOthers(generation)
}

// hasFiles reports whether the directory holds these very files. One that cannot be read counts as missing, and is written
// again.
func (d directory) hasFiles(files []file) bool {
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(string(d), f.name))
		if err != nil || !bytes.Equal(data, f.data) {
			return false
		}
	}
	return true
}

// link makes the name a link to the target, in place of whatever file or link there was, at once.
func (d directory) link(name, target string) error {
	path, next := filepath.Join(string(d), name), filepath.Join(string(d), "..next-"+name)
	if old, err := os.Readlink(path); err == nil && old == target {
		return nil
	}
	if err := os.Remove(next); err != nil && !os.IsNotExist(err) { // of a process that was killed
		return fmt.Errorf("remove an old link: %w", err)
	}
	if err := os.Symlink(target, next); err != nil {
		return fmt.Errorf("make a link: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("replace a link: %w", err)
	}
	return nil
}

// removeOthers removes all other generations.
func (d directory) removeOthers(generation string) error {
	all, err := filepath.Glob(filepath.Join(string(d), generations+"*"))
	if err != nil {
		return fmt.Errorf("find old files: %w", err)
	}
	for _, old := range all {
		if old == generation {
			continue
		}
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("remove old files: %w", err)
		}
	}
	return nil
}
