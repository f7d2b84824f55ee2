package access

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// maxWatch is how long a watch lasts at most, as clients of API servers are used to.
	maxWatch = time.Hour
	// placementInterval is how soon a watch follows a job to a cluster that had none of the namespace before.
	placementInterval = 2 * time.Second
	// rewatchDelay is how long to wait before a worker is watched again.
	rewatchDelay = 2 * time.Second
)

// watchEvent is one event of a watch.
type watchEvent struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// merged is one watch of a caller, of all workers to which Workloads of the namespace are bound.
type merged struct {
	handler *Handler
	request request
	accept  string
	query   url.Values
	// answer is written under mu. Said tells that the caller was told the columns of the table, which is done once.
	mu     sync.Mutex
	answer http.ResponseWriter
	flush  func() error
	said   bool
	// end ends the watch.
	end context.CancelFunc
}

// watch sends events as they come, until the caller leaves, the time is over, or a worker cannot say any more what has changed.
func (h *Handler) watch(ctx context.Context, w http.ResponseWriter, req *http.Request, r request, only string) error {
	accept, ok := negotiate(req.Header.Get("Accept"), false)
	if !ok {
		return notAcceptable()
	}
	query, err := selection(r, req.URL.Query())
	if err != nil {
		return err
	}
	versions := parseVersions(req.URL.Query().Get("resourceVersion"))
	names, err := h.candidates(ctx, r, only)
	if err != nil {
		return err
	}
	if v := versions[anyVersion]; v != "" && v != "0" {
		// The version of an object: only one worker can have given it.
		if len(names) != 1 {
			return apierrors.NewResourceExpired("the resource version is that of one object: list again")
		}
		versions = resourceVersions{names[0]: v}
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout(req.URL.Query().Get("timeoutSeconds")))
	defer cancel()
	m := &merged{
		handler: h, request: r, accept: accept, query: query, answer: w, flush: http.NewResponseController(w).Flush, end: cancel,
	}
	w.Header().Set("Content-Type", acceptJSON)
	w.WriteHeader(http.StatusOK)
	if err := m.flush(); err != nil {
		return nil // the caller has left
	}
	m.run(ctx, names, versions, only)
	return nil
}

func watchTimeout(text string) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxWatch)
	}
	return maxWatch
}

// run watches the workers with jobs of the namespace, also those that get some later, until the context ends.
func (m *merged) run(ctx context.Context, names []string, versions resourceVersions, only string) {
	var all sync.WaitGroup
	defer all.Wait()
	started := map[string]bool{}
	looks := m.handler.clock.NewTicker(placementInterval)
	defer looks.Stop()
	for {
		for _, name := range names {
			if !started[name] {
				started[name] = true
				all.Go(func() { m.follow(ctx, name, versions.of(name)) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C():
		}
		if now, err := m.handler.candidates(ctx, m.request, only); err == nil {
			names = now
		}
	}
}

// follower is the watch of one worker.
type follower struct {
	*merged

	worker    *worker
	ownership *ownership
	// version is up to which the worker has told what has changed; sent are the objects that the caller was told of.
	version string
	sent    map[types.UID]bool
	// columns are those of the table, which the worker tells with its first event.
	columns []json.RawMessage
}

// follow watches one worker, again and again.
func (m *merged) follow(ctx context.Context, cluster, version string) {
	f := &follower{merged: m, version: version, sent: map[types.UID]bool{}}
	for ctx.Err() == nil {
		var err error
		if f.worker, f.ownership, err = m.handler.connect(ctx, cluster, m.request.namespace); err == nil {
			if err = f.recall(ctx); err == nil {
				err = f.once(ctx)
			}
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			m.fail(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-m.handler.clock.After(rewatchDelay):
		}
	}
}

// recall finds out what a caller knows who goes on from a list: what is deleted later may have no owner any more by which it is known.
func (f *follower) recall(ctx context.Context) error {
	if f.version == "" || f.version == "0" || isEvents(f.request.resource) || len(f.sent) > 0 {
		return nil
	}
	return inNamespace{f.worker, f.request.namespace}.listAll(ctx, f.request.resource, func(obj *metav1.PartialObjectMetadata) error {
		_, ok, err := f.handler.belongs(ctx, f.ownership, f.request, &envelope{ObjectMeta: obj.ObjectMeta})
		if ok {
			f.markSent(obj.UID)
		}
		return err
	})
}

// markSent notes that the caller was told of an object. Of more than there can be none is noted.
func (f *follower) markSent(uid types.UID) {
	if len(uid) <= maxSegment && len(f.sent) < maxRemembered {
		f.sent[uid] = true
	}
}

// once watches the worker until it ends the watch.
func (f *follower) once(ctx context.Context) error {
	query := withVersion(f.query, f.version)
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	body, err := f.worker.open(ctx, f.worker.url(query, resourceParts(f.request.resource, f.request.namespace)...), f.accept)
	if err != nil {
		return err
	}
	defer body.Close()
	metered := &limitedReader{from: body}
	decoder := json.NewDecoder(metered)
	for {
		metered.left = maxObject + chunk
		var event watchEvent
		if err := decoder.Decode(&event); err != nil {
			return f.worker.unreachable(err)
		}
		f.ownership.nextEvent()
		if err := f.event(ctx, event); err != nil {
			return err
		}
	}
}

// limitedReader fails when one event is larger than any object can be.
type limitedReader struct {
	from io.Reader
	left int
}

var errEventTooLarge = errors.New("an event is larger than any object can be")

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errEventTooLarge
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// event tells the caller what a worker says, if it is of the hub's jobs.
func (f *follower) event(ctx context.Context, e watchEvent) error {
	if e.Type == watch.Error {
		status := &metav1.Status{}
		if err := json.Unmarshal(e.Object, status); err != nil {
			return f.worker.garbled(err)
		}
		status.Message = plainText(status.Message)
		return &apierrors.StatusError{ErrStatus: *status}
	}
	if e.Type == watch.Bookmark {
		f.keepVersion(e.Object)
		return nil
	}
	if isTable(e.Object) {
		f.keepColumns(e.Object)
	}
	meta, err := metadataOf(e.Object)
	if err != nil {
		return f.worker.garbled(err)
	}
	_, ok, err := f.handler.belongs(ctx, f.ownership, f.request, meta)
	if err != nil {
		return err
	}
	f.version = meta.ResourceVersion
	switch known := f.sent[meta.UID]; {
	case !ok && !known:
		return nil
	case !ok || e.Type == watch.Deleted:
		e.Type = watch.Deleted
		delete(f.sent, meta.UID)
	default:
		if !known {
			e.Type = watch.Added
		}
		f.markSent(meta.UID)
	}
	return f.send(e)
}

// keepVersion keeps up to which the worker has told what has changed.
func (f *follower) keepVersion(bookmark json.RawMessage) {
	if isTable(bookmark) {
		var t table
		var row tableRow
		if json.Unmarshal(bookmark, &t) != nil || len(t.Rows) != 1 || json.Unmarshal(t.Rows[0], &row) != nil {
			return
		}
		bookmark = row.Object
	}
	var e envelope
	if json.Unmarshal(bookmark, &e) == nil && e.ResourceVersion != "" {
		f.version = e.ResourceVersion
	}
}

// keepColumns keeps the columns of a table, which a worker says with its first event only.
func (f *follower) keepColumns(raw json.RawMessage) {
	var t table
	if json.Unmarshal(raw, &t) == nil && len(t.ColumnDefinitions) > 0 {
		f.columns = t.ColumnDefinitions
	}
}

// send writes one event.
func (f *follower) send(e watchEvent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isTable(e.Object) {
		var t table
		if err := json.Unmarshal(e.Object, &t); err != nil {
			return f.worker.garbled(err)
		}
		t.ColumnDefinitions = nil
		if !f.said {
			t.ColumnDefinitions, f.said = f.columns, true
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return f.worker.garbled(err)
		}
		if e.Object, err = addClusterToTable(raw, f.worker.name); err != nil {
			return f.worker.garbled(err)
		}
	}
	return f.write(e)
}

// write writes to the caller; the watch ends if it has left.
func (m *merged) write(e watchEvent) error {
	raw, err := json.Marshal(e)
	if err == nil {
		_, err = m.answer.Write(append(raw, '\n'))
	}
	if err == nil {
		err = m.flush()
	}
	if err != nil {
		m.end()
	}
	return err
}

// fail ends the watch with an error, after which clients list again.
func (m *merged) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		said := status.Status()
		said.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if raw, err := json.Marshal(said); err == nil {
			_ = m.write(watchEvent{Type: watch.Error, Object: raw})
		}
	}
	m.end()
}
