package memory

import (
	"bytes"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkEvery is how often a watch that asks for bookmarks gets one.
const bookmarkEvery = time.Minute

// selector is what of a collection a call wants.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (c request) selection() (selector, error) {
	s := selector{namespace: c.namespace}
	var err error
	if s.labels, err = labels.Parse(c.query.Get("labelSelector")); err == nil {
		s.fields, err = fields.ParseSelector(c.query.Get("fieldSelector"))
	}
	if err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	return s, nil
}

func (s selector) matches(o *object) bool {
	return o != nil && (s.namespace == "" || s.namespace == o.namespace) && s.labels.Matches(o.labels) &&
		s.fields.Matches(fields.Set{"metadata.name": o.name, "metadata.namespace": o.namespace})
}

// all are the selected objects, and the version as of which they are. mu must not be held.
func (c *collection) all(want selector) (list []*object, version uint64, position int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, o := range c.objects {
		if want.matches(o) {
			list = append(list, o)
		}
	}
	return list, c.versions.Load(), c.begun + len(c.log)
}

// list answers with all selected objects: limits are not kept to, as by an API server's own cache.
func (c *collection) list(w http.ResponseWriter, asked request) error {
	want, err := asked.selection()
	if err != nil {
		return err
	}
	objects, version, _ := c.all(want)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"%s","metadata":{"resourceVersion":"%d"},"items":[`, c.Kind, c.GroupVersion(), version)
	for i, o := range objects {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(bytes.TrimSpace(o.data))
	}
	_, _ = w.Write([]byte("]}"))
	return nil
}

// watcher is one watch.
type watcher struct {
	out      http.ResponseWriter
	flush    func()
	of       *collection
	want     selector
	position int
	failed   bool
}

// watch sends changes until the caller leaves, its time is over or the server stops. One that asks for initial events, or for
// no version, gets all objects first.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, c request) error {
	want, err := c.selection()
	if err != nil {
		return err
	}
	flusher, ok := w.(http.Flusher)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("the connection cannot stream"))
	}
	watching := &watcher{out: w, flush: flusher.Flush, of: c.of, want: want}
	begin, err := watching.begin(c)
	if err != nil {
		return err
	}
	if c.verb == verbList && !s.pause(r.Context()) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	begin()
	flusher.Flush()
	var over <-chan time.Time
	if seconds, err := strconv.Atoi(c.query.Get("timeoutSeconds")); err == nil {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		over = timer.C
	}
	bookmarks := time.NewTicker(bookmarkEvery)
	defer bookmarks.Stop()
	for !watching.failed {
		changed := watching.advance()
		select {
		case <-changed:
		case <-bookmarks.C:
			watching.bookmark("")
			flusher.Flush()
		case <-over:
			return nil
		case <-r.Context().Done():
			return nil
		case <-s.over:
			return nil
		}
	}
	return nil
}

// begin finds where the watch begins, and returns what is to be sent first.
func (w *watcher) begin(c request) (func(), error) {
	from := c.query.Get("resourceVersion")
	initial := c.query.Get("sendInitialEvents") == "true"
	if !initial && from != "" && from != "0" {
		version, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: %v", err))
		}
		return func() {}, w.eventsSince(version)
	}
	objects, _, position := w.of.all(w.want)
	w.position = position
	return func() {
		for _, o := range objects {
			w.send(watch.Added, o.data)
		}
		if initial {
			w.bookmark(`,"annotations":{"k8s.io/initial-events-end":"true"}`)
		}
	}, nil
}

// eventsSince finds the first change after a version.
func (w *watcher) eventsSince(version uint64) error {
	w.of.mu.RLock()
	defer w.of.mu.RUnlock()
	if version < w.of.trimmed {
		return apierrors.NewResourceExpired(fmt.Sprintf("version %d is too old", version))
	}
	log := w.of.log
	w.position = w.of.begun + sort.Search(len(log), func(i int) bool { return log[i].now.version > version })
	return nil
}

// advance sends all changes since the last call, and returns a channel that is closed with the next.
func (w *watcher) advance() <-chan struct{} {
	w.of.mu.RLock()
	behind := w.position < w.of.begun
	var news []Change
	if !behind {
		news = w.of.log[w.position-w.of.begun:]
	}
	changed := w.of.changed
	w.of.mu.RUnlock()
	if behind {
		w.expired()
		return changed
	}
	w.position += len(news)
	sent := false
	for _, change := range news {
		if kind := w.kindOf(change); kind != "" {
			w.send(kind, change.now.data)
			sent = true
		}
	}
	if sent {
		w.flush()
	}
	return changed
}

// kindOf is what a change is for a client that sees only a selection; empty if it is nothing.
func (w *watcher) kindOf(c Change) watch.EventType {
	is := c.Type != watch.Deleted && w.want.matches(c.now)
	was := w.want.matches(c.before)
	switch {
	case is && was:
		return watch.Modified
	case is:
		return watch.Added
	case was:
		return watch.Deleted
	}
	return ""
}

func (w *watcher) send(kind watch.EventType, data []byte) {
	if _, err := fmt.Fprintf(w.out, `{"type":"%s","object":%s}`+"\n", kind, bytes.TrimSpace(data)); err != nil {
		w.failed = true
	}
}

func (w *watcher) bookmark(more string) {
	w.of.mu.RLock()
	version := w.of.versions.Load()
	if w.position < w.of.begun+len(w.of.log) { // changes are still to be sent
		version = w.of.log[w.position-w.of.begun].now.version - 1
	}
	w.of.mu.RUnlock()
	w.send(watch.Bookmark, fmt.Appendf(nil, `{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"%d","creationTimestamp":null%s}}`,
		w.of.Kind, w.of.GroupVersion(), version, more))
}

func (w *watcher) expired() {
	w.failed = true
	w.send(watch.Error, []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","message":"the watch fell behind","code":410}`))
	w.flush()
}
