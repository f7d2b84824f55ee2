package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxList is how much of one worker's objects an answer may have, in bytes.
const maxList = 64 << 20

// maxWarnings is how many workers that did not answer are named.
const maxWarnings = 10

// part is what one worker gives to a list.
type part struct {
	cluster string
	head    page
	entries []json.RawMessage
	release func()
	// denied is why some objects may be missing.
	denied error
	err    error
}

// list answers with the objects of all workers to which Workloads of the namespace are bound. A worker that does not answer is named in a
// warning, unless none does.
func (h *Handler) list(ctx context.Context, w http.ResponseWriter, req *http.Request, r request, only string) error {
	accept, ok := negotiate(req.Header.Get("Accept"), true)
	if !ok {
		return notAcceptable()
	}
	query, err := selection(r, req.URL.Query())
	if err != nil {
		return err
	}
	names, err := h.candidates(ctx, r, only)
	if err != nil {
		return err
	}
	versions := parseVersions(req.URL.Query().Get("resourceVersion"))
	parts := make([]part, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			parts[i] = h.listOne(ctx, r, name, accept, withVersion(query, versions.of(name)))
		})
	}
	all.Wait()
	return writeList(w, req, r, accept, parts)
}

// listOne reads what one worker has of a list, page by page.
func (h *Handler) listOne(ctx context.Context, r request, cluster, accept string, query url.Values) part {
	p := part{cluster: cluster}
	w, own, leave, err := h.beginRead(ctx, cluster, r.namespace)
	if err != nil {
		p.err = err
		return p
	}
	defer leave()
	room := &meter{memory: w.memory, limit: maxList}
	p.release = room.release
	query.Set("limit", strconv.Itoa(pageSize))
	for range maxPages {
		raw, release, err := w.fetch(ctx, w.url(query, resourceParts(r.resource, r.namespace)...), accept, maxPage)
		if err != nil {
			p.err = err
			return p
		}
		var one page
		if err = json.Unmarshal(raw, &one); err != nil {
			err = w.garbled(err)
		} else {
			err = h.keep(ctx, &p, own, r, one, room)
		}
		release()
		if err != nil {
			p.err = err
			return p
		}
		if one.Metadata.Continue == "" {
			p.denied = own.denied
			return p
		}
		query.Set("continue", one.Metadata.Continue)
		query.Del("resourceVersion")
	}
	p.err = newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q has too many %s", cluster, r.resource.Resource))
	return p
}

// keep takes from a page what belongs to the hub's jobs.
func (h *Handler) keep(ctx context.Context, p *part, own *ownership, r request, one page, room *meter) error {
	entries, read := one.Items, itemMetadata
	if one.Kind == tableKind {
		entries, read = one.Rows, rowMetadata
	}
	if p.head.Kind == "" {
		p.head = one
		p.head.Items, p.head.Rows = nil, nil
	}
	for _, raw := range entries {
		meta, err := read(raw)
		if errors.Is(err, errNoObject) {
			continue
		}
		if err != nil {
			return own.garbled(err)
		}
		_, ok, err := h.belongs(ctx, own, r, meta)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if one.Kind == tableKind {
			if raw, err = addClusterCell(raw, p.cluster); err != nil {
				return own.garbled(err)
			}
		}
		if err := room.take(len(raw)); err != nil {
			return err
		}
		p.entries = append(p.entries, slices.Clone(raw))
	}
	return nil
}

func (o *ownership) garbled(err error) error {
	return newStatus(http.StatusBadGateway, metav1.StatusReasonInternalError, fmt.Sprintf("cluster %q answers what cannot be read: %s", o.cluster, plainText(err.Error())))
}

// writeList puts the parts together.
func writeList(w http.ResponseWriter, req *http.Request, r request, accept string, parts []part) error {
	answer := emptyList(r, accept)
	versions := resourceVersions{}
	var failures []error
	var entries []json.RawMessage
	defer func() {
		for i := range parts {
			if release := parts[i].release; release != nil {
				release()
			}
		}
	}()
	for i := range parts {
		p := &parts[i]
		if told := cmp.Or(p.err, p.denied); told != nil && len(w.Header().Values("Warning")) < maxWarnings {
			w.Header().Add("Warning", warning(told))
		}
		if p.err != nil {
			failures = append(failures, p.err)
			continue
		}
		versions[p.cluster] = p.head.Metadata.ResourceVersion
		if answer.ColumnDefinitions == nil && len(p.head.ColumnDefinitions) > 0 {
			answer.ColumnDefinitions = slices.Concat(p.head.ColumnDefinitions, []json.RawMessage{clusterColumn})
		}
		answer.TypeMeta = p.head.TypeMeta
		entries = append(entries, p.entries...)
	}
	if len(failures) > 0 && len(failures) == len(parts) {
		w.Header().Del("Warning")
		return failures[0]
	}
	answer.Metadata.ResourceVersion = versions.String()
	return writeJSONList(w, req, answer, entries)
}

// emptyList is the answer while no worker has given its own kind.
func emptyList(r request, accept string) page {
	switch {
	case strings.Contains(accept, "as="+tableKind):
		return page{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: tableKind}}
	case strings.Contains(accept, "as=PartialObjectMetadataList"):
		return page{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	}
	kind := "PodList"
	if isEvents(r.resource) {
		kind = "EventList"
	} else if r.resource != podsV1 {
		kind = "List"
	}
	return page{TypeMeta: metav1.TypeMeta{APIVersion: r.resource.GroupVersion().String(), Kind: kind}}
}

// writeJSONList writes a list without copying its entries once more.
func writeJSONList(w http.ResponseWriter, req *http.Request, head page, entries []json.RawMessage) error {
	key := "items"
	if head.Kind == tableKind {
		key = "rows"
	}
	head.Items, head.Rows = nil, nil
	raw, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("write a list: %w", err)
	}
	w.Header().Set("Content-Type", acceptJSON)
	w.WriteHeader(http.StatusOK)
	if req.Method == http.MethodHead {
		return nil
	}
	// An error from here on is the caller's connection, which has nobody to tell.
	_, _ = fmt.Fprintf(w, "%s,%q:[", raw[:len(raw)-1], key)
	for i, entry := range entries {
		if i > 0 {
			_, _ = w.Write([]byte{','})
		}
		_, _ = w.Write(entry)
	}
	_, _ = w.Write([]byte("]}\n"))
	return nil
}

// warning is a header that kubectl shows.
func warning(err error) string {
	text := strings.NewReplacer(`\`, `'`, `"`, `'`, "\r", " ", "\n", " ").Replace(err.Error())
	return fmt.Sprintf(`299 - "%.400s"`, text)
}

// selection returns what of a caller's query goes to a worker with a list or a watch. The rows of a table of events have whole events, because their
// metadata does not say what they are about.
func selection(r request, from url.Values) (url.Values, error) {
	to := url.Values{}
	if isEvents(r.resource) || from.Get("includeObject") == string(metav1.IncludeObject) {
		to.Set("includeObject", string(metav1.IncludeObject))
	}
	for _, key := range []string{"labelSelector", "fieldSelector"} {
		if value := from.Get(key); value != "" {
			to.Set(key, value)
		}
	}
	if isTrue(from["sendInitialEvents"]) {
		return nil, newStatus(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is not served here: list first, then watch")
	}
	return to, nil
}

func withVersion(query url.Values, version string) url.Values {
	copied := url.Values{}
	for key, values := range query {
		copied[key] = values
	}
	if version != "" {
		copied.Set("resourceVersion", version)
	}
	return copied
}

func notAcceptable() error {
	return newStatus(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only JSON is served here: accept application/json")
}
