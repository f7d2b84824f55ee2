package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/go-multierror"
)

const (
	tempPrefix = "switchyard-run-"
	lockName   = "in-use"
)

// runDirectory is where a cluster keeps its files.
type runDirectory struct {
	// Dir holds the cluster's data, certificates, kubeconfigs and one log per component; "" until it is made.
	Dir string
	// lock is held while a temporary directory is in use; nil for one that the caller named, which is never removed.
	lock *os.File
}

// file is the path of a file in the directory.
func (d *runDirectory) file(name string) string { return filepath.Join(d.Dir, name) }

// make makes the directory of a cluster below parent, or a temporary one if that is "". A temporary one is marked as in use by a
// file that stays locked for as long as this process lives.
func (d *runDirectory) make(parent, cluster string) error {
	if parent != "" {
		abs, err := filepath.Abs(filepath.Join(parent, cluster))
		if err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
		d.Dir = abs
		if err := os.MkdirAll(d.Dir, 0o700); err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
		return nil
	}
	if err := sweep(os.TempDir(), time.Now()); err != nil {
		return fmt.Errorf("removing directories of killed runs: %w", err)
	}
	dir, err := os.MkdirTemp("", tempPrefix+cluster+"-")
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	d.Dir = dir
	d.lock, err = lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("lock of the run directory: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return nil
}

// remove removes the directory if it is a temporary one.
func (d *runDirectory) remove() error {
	if d.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(d.Dir), d.lock.Close())
	d.lock = nil
	return err
}

// sweep removes the directories of runs that could not do it themselves because they were killed.
// Those made within the last minute are left alone: theirs may not be locked yet.
func sweep(parent string, now time.Time) error {
	dirs, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	if err != nil {
		return err
	}
	var result *multierror.Error
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		lock, err := lockFile(filepath.Join(dir, lockName))
		if err != nil {
			continue // in use, or somebody else's, or just removed by another sweep
		}
		result = multierror.Append(result, os.RemoveAll(dir), lock.Close())
	}
	return result.ErrorOrNil()
}

// lockFile makes and locks a file, or fails if another open file holds the lock. The kernel gives the
// lock up when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
