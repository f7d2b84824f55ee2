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

// makeDir makes the cluster's directory. A temporary one is marked as in use by a file that stays
// locked for as long as this process lives.
func (c *Cluster) makeDir() error {
	if c.options.Dir != "" {
		abs, err := filepath.Abs(filepath.Join(c.options.Dir, c.Name))
		if err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
		c.Dir = abs
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
		return nil
	}
	if err := sweep(os.TempDir(), time.Now()); err != nil {
		return fmt.Errorf("removing directories of killed runs: %w", err)
	}
	dir, err := os.MkdirTemp("", tempPrefix+c.Name+"-")
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	c.Dir = dir
	c.dirLock, err = lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("lock of the run directory: %w", err)
	}
	return nil
}

func (c *Cluster) removeDir() error {
	if c.options.Dir != "" || c.Dir == "" {
		return nil
	}
	err := os.RemoveAll(c.Dir)
	if c.dirLock != nil {
		err = errors.Join(err, c.dirLock.Close())
		c.dirLock = nil
	}
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
