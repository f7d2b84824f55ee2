package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Backup is a cluster's etcd as it was at a moment.
type Backup struct{ dir string }

// BackUp copies the data of etcd, which stands still meanwhile: clients notice nothing but a pause. The copy is what a snapshot
// of its disk would be, and goes with the cluster's directory.
func (c *Cluster) BackUp() (Backup, error) {
	c.backups++
	backup := Backup{dir: c.file("backup-" + strconv.Itoa(c.backups))}
	etcd := c.processes[0]
	if err := etcd.Signal(syscall.SIGSTOP); err != nil {
		return Backup{}, err
	}
	err := os.CopyFS(backup.dir, os.DirFS(c.file(etcdData)))
	if err := errors.Join(err, etcd.Signal(syscall.SIGCONT)); err != nil {
		return Backup{}, fmt.Errorf("backup of %s: %w", c.Name, err)
	}
	return backup, nil
}

// Restore puts etcd back to a backup, as Kubernetes says that it is to be done: the API server is stopped before, and everything
// that has caches of it (controllers, scheduler, kubelets) is started anew afterwards. Switchyard's program is not touched.
// Resource versions go back too. It returns when the API server is ready.
func (c *Cluster) Restore(ctx context.Context, b Backup) error {
	if err := c.StopAPIServer(); err != nil {
		return err
	}
	for _, process := range c.processes {
		if err := process.Kill(); err != nil {
			return err
		}
	}
	if err := c.replaceData(b); err != nil {
		return fmt.Errorf("restore %s: %w", c.Name, err)
	}
	if err := c.restart(0); err != nil {
		return err
	}
	if err := c.waitForEtcd(ctx, c.processes[0]); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	for i := 1; i < len(c.processes); i++ {
		if err := c.restart(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) replaceData(b Backup) error {
	data := c.file(etcdData)
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(b.dir)); err != nil {
		return err
	}
	// etcd insists on a directory that no other user can read.
	return filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700)
	})
}
