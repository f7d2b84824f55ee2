package cluster

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	ctrl "sigs.k8s.io/controller-runtime"
)

// fileSettleDelay is how long a kubeconfig file is left to settle after an event: replacing a mounted file causes several
// events (contract: multikueue.md 2, "Triggers").
const fileSettleDelay = 100 * time.Millisecond

// kubeconfigWatcher tells when the kubeconfig files of clusters appear, change or go. It watches directories, since a file is
// mostly replaced rather than written, and a mounted one is a link to a link. What it misses (a link whose target lies
// elsewhere, a file system without events) the next reading of the files finds, see pathReread.
type kubeconfigWatcher struct {
	watcher *fsnotify.Watcher
	// onChange is told the name of a cluster whose file may have changed.
	onChange func(cluster string)

	mu sync.Mutex
	// directories that are watched for each cluster, by the cluster's name.
	directories map[string][]string
}

// newKubeconfigWatcher begins to watch; nothing is told before Start.
func newKubeconfigWatcher(changed func(cluster string)) (*kubeconfigWatcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch kubeconfig files: %w", err)
	}
	return &kubeconfigWatcher{watcher: watcher, onChange: changed, directories: map[string][]string{}}, nil
}

// Start implements manager.Runnable.
func (f *kubeconfigWatcher) Start(ctx context.Context) error {
	defer f.watcher.Close()
	log := ctrl.Log.WithName("kubeconfig-files")
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-f.watcher.Events:
			for _, cluster := range f.clustersWatching(filepath.Dir(event.Name), event.Name) {
				f.onChange(cluster)
			}
		case err := <-f.watcher.Errors:
			log.Error(err, "Watch kubeconfig files; they are read again later")
			for _, cluster := range f.listClusters() {
				f.onChange(cluster)
			}
		}
	}
}

// watchFile watches the file of a cluster from now on, and none that was its file before. An empty path is no file.
func (f *kubeconfigWatcher) watchFile(cluster, path string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.directories[cluster]
	if path == "" {
		delete(f.directories, cluster)
	} else {
		f.directories[cluster] = directoriesToWatch(path)
	}
	for _, dir := range f.directories[cluster] {
		if err := f.watcher.Add(dir); err != nil {
			ctrl.Log.Error(err, "Watch the directory of a kubeconfig file; it is read again later", "directory", dir)
		}
	}
	for _, dir := range before {
		if !f.isWatched(dir) {
			_ = f.watcher.Remove(dir) // it may be gone
		}
	}
}

// directoriesToWatch are the directories in which an event may change what is read at a path: that of the path and that of the file
// behind it; while the first does not exist, the nearest above that does.
func directoriesToWatch(path string) []string {
	dir := filepath.Dir(filepath.Clean(path))
	for {
		if _, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	found := []string{dir}
	if file, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(file) != dir {
		found = append(found, filepath.Dir(file))
	}
	return found
}

// clustersWatching lists the clusters that watch one of the directories.
func (f *kubeconfigWatcher) clustersWatching(dirs ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var clusters []string
	for cluster, watched := range f.directories {
		if slices.ContainsFunc(watched, func(dir string) bool { return slices.Contains(dirs, dir) }) {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

func (f *kubeconfigWatcher) listClusters() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.directories))
}

// isWatched tells whether a cluster's file may change with the directory. The caller holds mu.
func (f *kubeconfigWatcher) isWatched(dir string) bool {
	for _, dirs := range f.directories {
		if slices.Contains(dirs, dir) {
			return true
		}
	}
	return false
}

// allowedPath is the path if it may be read at all (Credentials.PathPrefix), else empty: what is refused is not watched.
func allowedPath(prefix, path string) string {
	path = filepath.Clean(path)
	if prefix != "" && !strings.HasPrefix(path, filepath.Clean(prefix)+string(filepath.Separator)) {
		return ""
	}
	return path
}
