package clusters

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// auditPolicy records the writer of each write, once per request, after it was answered; reads are recorded of the given
// users only. Leases are kept out at the source: they measure time, not work.
func auditPolicy(readers []string) string {
	policy := `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: None
  nonResourceURLs: ["*"]
`
	if len(readers) > 0 {
		policy += fmt.Sprintf("- level: Metadata\n  users: [%s]\n  verbs: [get, list]\n", strings.Join(readers, ", "))
	}
	return policy + `- level: None
  verbs: [get, list, watch, proxy]
- level: Metadata
`
}

// Write is one kind of write request to an API server.
type Write struct {
	// User is the authenticated user; Agent the program, the user agent's part before the first slash.
	User, Agent string
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Resource is "<resource>[/<subresource>][.<group>]", such as "workloads/status.kueue.x-k8s.io".
	Resource string
	// Failed marks requests that were answered with a status of 400 or above (conflicts among them).
	Failed bool
}

// WriteCount is how often a kind of write request was made.
type WriteCount struct {
	Write
	Count int
}

// auditLog is the log of the API server's answered requests.
type auditLog struct{ path string }

// WriteCounts is the number of API writes since the cluster was started, most frequent first, ties
// in the order of the fields. The difference of two calls is the cost of what happened between.
func (l auditLog) WriteCounts() ([]WriteCount, error) {
	return l.requestCounts(func(verb string) bool { return !isRead(verb) })
}

// ReadCounts is the same for reads (get and list) by the users of Options.CountReadsOf.
func (l auditLog) ReadCounts() ([]WriteCount, error) { return l.requestCounts(isRead) }

func isRead(verb string) bool { return verb == "get" || verb == "list" }

func (l auditLog) requestCounts(counted func(verb string) bool) ([]WriteCount, error) {
	log, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", l.path, err)
	}
	defer log.Close()
	counts, err := countRequests(log, counted)
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", l.path, err)
	}
	return counts, nil
}

// repair cuts off the line that a server which was killed in the middle of a write left without its end, so that the
// next server's first line is its own. What the line was about has or has not been done; its client got no answer.
func (l auditLog) repair() error {
	log, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit log %s: %w", l.path, err)
	}
	if err := os.Truncate(l.path, int64(bytes.LastIndexByte(log, '\n')+1)); err != nil {
		return fmt.Errorf("audit log %s: %w", l.path, err)
	}
	return nil
}

// auditEvent is the part of an audit.k8s.io/v1 Event that is counted.
type auditEvent struct {
	Verb      string                    `json:"verb"`
	UserAgent string                    `json:"userAgent"`
	User      struct{ Username string } `json:"user"`
	Status    struct{ Code int }        `json:"responseStatus"`
	Object    *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
}

func countRequests(log io.Reader, counted func(verb string) bool) ([]WriteCount, error) {
	counts := map[Write]int{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// A line without its end is still being written.
			return sortedCounts(counts), nil
		}
		if err != nil {
			return nil, err
		}
		var event auditEvent
		if err := json.Unmarshal(bytes.TrimSpace(line), &event); err != nil {
			return nil, err
		}
		if event.Object != nil && counted(event.Verb) {
			counts[parseWrite(event)]++
		}
	}
}

func parseWrite(event auditEvent) Write {
	agent, _, _ := strings.Cut(event.UserAgent, "/")
	resource := event.Object.Resource
	if event.Object.Subresource != "" {
		resource += "/" + event.Object.Subresource
	}
	if event.Object.APIGroup != "" {
		resource += "." + event.Object.APIGroup
	}
	return Write{User: event.User.Username, Agent: agent, Verb: event.Verb, Resource: resource, Failed: event.Status.Code >= 400}
}

func sortedCounts(counts map[Write]int) []WriteCount {
	var out []WriteCount
	for write, n := range counts {
		out = append(out, WriteCount{Write: write, Count: n})
	}
	slices.SortFunc(out, func(a, b WriteCount) int {
		failed := func(w Write) int {
			if w.Failed {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.User, b.User), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Resource, b.Resource), cmp.Compare(failed(a.Write), failed(b.Write)))
	})
	return out
}
