package access

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Subresources of pods that are served.
const (
	subresourceLog         = "log"
	subresourceExec        = "exec"
	subresourceAttach      = "attach"
	subresourcePortForward = "portforward"
)

// target is what kind of answer a request wants.
type target int

const (
	// targetDiscovery lists what is served.
	targetDiscovery target = iota
	// targetReview is a SelfSubjectAccessReview.
	targetReview
	// targetObjects reads objects: get, list or watch.
	targetObjects
	// targetLog streams a log.
	targetLog
	// targetConnect upgrades the connection: exec, attach, portforward.
	targetConnect
)

// request is what a caller asks for, read from the path below proxy.
type request struct {
	target target
	// verb is the one of the core API that the caller needs. For connections it is create, whatever the method (Kubernetes asks for it
	// also for GET since 1.35).
	verb      string
	resource  schema.GroupVersionResource
	namespace string
	// name is empty for a list and a watch, which may select one object by a field.
	name        string
	subresource string
	// path is the one for discovery, without slashes at its ends.
	path string
}

// maxSegment is the longest part of a path that is looked at, and maxPath the longest path. No name is longer.
const (
	maxSegment = 253
	maxPath    = 2048
)

// coreV1 are the resources of the group "" that are served.
const (
	resourcePods   = "pods"
	resourceEvents = "events"
)

// eventsGroup is where events are served, too.
const eventsGroup = "events.k8s.io"

// resources tells which kinds of job can be read, by group, version and plural.
type resources interface {
	// Job returns the kind of a resource that is a kind of job; ok tells whether there is one.
	Job(resource schema.GroupVersionResource) (kind schema.GroupVersionKind, ok bool)
}

// parseRequest reads what is asked for. An error is a Status for the caller.
func parseRequest(method, below, rawQuery string, served resources) (request, error) {
	if len(below) > maxPath {
		return request{}, notServed("the path is longer than any that is served here")
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return request{}, apierrors.NewBadRequest(fmt.Sprintf("the query cannot be read: %v", err))
	}
	trimmed := strings.Trim(below, "/")
	parts := strings.Split(trimmed, "/")
	for _, part := range parts {
		if len(part) > maxSegment || len(content.IsPathSegmentName(part)) > 0 || (part == "" && trimmed != "") {
			return request{}, apierrors.NewBadRequest(fmt.Sprintf("the path has a part that no name can be: %.60q", part))
		}
	}
	if r, ok := parseDiscovery(trimmed, parts); ok {
		if !isRead(method) {
			return request{}, methodNotAllowed(method)
		}
		return r, nil
	}
	resource, rest, ok := splitResource(parts)
	if !ok {
		return request{}, notServed("there is nothing at /" + trimmed)
	}
	if resource == selfReview && len(rest) == 1 {
		if method != http.MethodPost {
			return request{}, methodNotAllowed(method)
		}
		return request{target: targetReview, resource: resource}, nil
	}
	return parseObjects(method, resource, rest, query, served)
}

// selfReview is what clients ask whether they may do something.
var selfReview = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

// parseDiscovery reads a path of discovery: /api, /apis, /version, a group, or a group's version.
func parseDiscovery(trimmed string, parts []string) (request, bool) {
	r := request{target: targetDiscovery, path: trimmed}
	switch {
	case trimmed == "" || trimmed == "version" || trimmed == "api" || trimmed == "apis":
		return r, true
	case parts[0] == "api" && len(parts) == 2, parts[0] == "apis" && (len(parts) == 2 || len(parts) == 3):
		return r, true
	}
	return request{}, false
}

// splitResource finds group, version and, after the namespace if there is one, the resource. Rest is what follows version: the
// namespace's parts and those of the resource.
func splitResource(parts []string) (schema.GroupVersionResource, []string, bool) {
	var group, version string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return schema.GroupVersionResource{}, nil, false
	}
	resource := parts[0]
	if resource == "namespaces" && len(parts) >= 3 {
		resource = parts[2]
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, parts, true
}

// parseObjects reads a request for objects of a namespace.
func parseObjects(method string, resource schema.GroupVersionResource, rest []string, query url.Values, served resources) (request, error) {
	if !isServed(resource, served) {
		return request{}, notServed(fmt.Sprintf("%s is not among what is served here", resource.GroupResource()))
	}
	if rest[0] != "namespaces" || len(rest) < 3 {
		return request{}, notServed("only one namespace at a time is served: name it, as in -n team")
	}
	r := request{resource: resource, namespace: rest[1]}
	if problems := validation.IsDNS1123Label(r.namespace); len(problems) > 0 {
		return request{}, apierrors.NewBadRequest(fmt.Sprintf("%.60q cannot be a namespace: %s", r.namespace, problems[0]))
	}
	if rest = rest[3:]; len(rest) > 2 {
		return request{}, notServed("the path is longer than any that is served here")
	}
	if len(rest) > 0 {
		r.name = rest[0]
		if problems := validation.IsDNS1123Subdomain(r.name); len(problems) > 0 {
			return request{}, apierrors.NewBadRequest(fmt.Sprintf("%.60q cannot be a name: %s", r.name, problems[0]))
		}
	}
	if len(rest) == 2 {
		return parseSubresource(r, method, rest[1])
	}
	if !isRead(method) {
		return request{}, methodNotAllowed(method)
	}
	r.target = targetObjects
	switch {
	case r.name != "":
		r.verb = "get"
	case isTrue(query["watch"]):
		r.verb = "watch"
	default:
		r.verb = "list"
	}
	return r, nil
}

func parseSubresource(r request, method, name string) (request, error) {
	if r.resource != podsV1 {
		return request{}, notServed(fmt.Sprintf("%s/%s is not among what is served here", r.resource.GroupResource(), name))
	}
	r.subresource = name
	switch name {
	case subresourceLog:
		if !isRead(method) {
			return request{}, methodNotAllowed(method)
		}
		r.target, r.verb = targetLog, "get"
	case subresourceExec, subresourceAttach, subresourcePortForward:
		if method != http.MethodGet && method != http.MethodPost {
			return request{}, methodNotAllowed(method)
		}
		r.target, r.verb = targetConnect, "create"
	default:
		return request{}, notServed(fmt.Sprintf("pods/%s is not among what is served here", name))
	}
	return r, nil
}

var (
	podsV1      = schema.GroupVersionResource{Version: "v1", Resource: resourcePods}
	coreEvents  = schema.GroupVersionResource{Version: "v1", Resource: resourceEvents}
	newerEvents = schema.GroupVersionResource{Group: eventsGroup, Version: "v1", Resource: resourceEvents}
)

func isServed(resource schema.GroupVersionResource, served resources) bool {
	if slices.Contains([]schema.GroupVersionResource{podsV1, coreEvents, newerEvents}, resource) {
		return true
	}
	_, ok := served.Job(resource)
	return ok
}

func isEvents(resource schema.GroupVersionResource) bool {
	return resource == coreEvents || resource == newerEvents
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// isTrue reads a flag of a query as API servers do: what is there and neither "0" nor "false" is true.
func isTrue(values []string) bool {
	return len(values) > 0 && values[0] != "" && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// servedHint says what can be asked for here.
const servedHint = "the hub serves pods (get, list, watch, log, exec, attach, portforward), events and jobs of one namespace that run on its " +
	"workers; for everything else use the hub's own API server"

func notServed(why string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: why + ": " + servedHint,
	}}
}

func methodNotAllowed(method string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: fmt.Sprintf("%.20s is not served here: %s", method, servedHint),
	}}
}
