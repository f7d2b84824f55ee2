package memory

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one kind that a server serves, in one version.
type Resource struct {
	schema.GroupVersionKind
	Plural     string
	Namespaced bool
	// Status is set if it has a status subresource.
	Status bool
	// Forget makes creations succeed and leave nothing: for events, which are not read here.
	Forget bool
}

// ResourceOfCRD are the resources of a definition, the storage version only.
func ResourceOfCRD(crd *apiextensionsv1.CustomResourceDefinition) []Resource {
	var list []Resource
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			list = append(list, Resource{
				GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind},
				Plural:           crd.Spec.Names.Plural, Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
				Status: v.Subresources != nil && v.Subresources.Status != nil,
			})
		}
	}
	return list
}

// Verbs of requests, as Kubernetes names them.
const (
	verbGet, verbList, verbWatch                  = "get", "list", "watch"
	verbCreate, verbUpdate, verbPatch, verbDelete = "create", "update", "patch", "delete"
)

// request is what a request asks for.
type request struct {
	verb            string
	of              *collection
	namespace, name string
	sub             string
	query           url.Values
}

// parse finds out what a request asks for.
func (s *Server) parse(r *http.Request) (request, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) > 2 && parts[0] == "api":
		gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return request{}, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "no such path", 0, false)
	}
	c := request{query: r.URL.Query()}
	if parts[0] == "namespaces" && len(parts) > 2 {
		c.namespace, parts = parts[1], parts[2:]
	}
	i := slices.IndexFunc(s.resources, func(o *collection) bool { return o.GroupVersion() == gv && o.Plural == parts[0] })
	if i < 0 {
		return c, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, gv.WithResource(parts[0]).GroupResource(), "", "not served", 0, false)
	}
	c.of = s.resources[i]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	if len(parts) > 2 {
		c.sub = parts[2]
	}
	c.verb = verbOf(r.Method, c)
	if c.verb == "" || c.sub != "" && (c.sub != "status" || !c.of.Status) {
		return c, apierrors.NewMethodNotSupported(c.of.resource(), r.Method)
	}
	return c, nil
}

func verbOf(method string, c request) string {
	switch {
	case method == http.MethodGet && c.name != "":
		return verbGet
	case method == http.MethodGet && c.query.Get("watch") == "true" && c.query.Get("sendInitialEvents") != "true":
		return verbWatch
	case method == http.MethodGet:
		return verbList
	case method == http.MethodPost && c.name == "":
		return verbCreate
	case c.name == "":
		return ""
	}
	return map[string]string{http.MethodPut: verbUpdate, http.MethodPatch: verbPatch, http.MethodDelete: verbDelete}[method]
}

// discovery answers what there is, in the old form that every client falls back to.
func (s *Server) discovery(w http.ResponseWriter, path string) bool {
	path = strings.Trim(path, "/")
	groups := map[string]*metav1.APIGroup{}
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	core := &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	of := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, r := range s.resources {
		gv := r.GroupVersion()
		if path == "api/"+gv.Version && gv.Group == "" || path == "apis/"+gv.String() && gv.Group != "" {
			of.GroupVersion = gv.String()
			of.APIResources = append(of.APIResources, r.describe()...)
		}
		if gv.Group == "" || groups[gv.Group] != nil {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		group := metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
		groups[gv.Group] = &group
		list.Groups = append(list.Groups, group)
	}
	switch {
	case path == "api":
		writeResponse(w, http.StatusOK, core)
	case path == "apis":
		writeResponse(w, http.StatusOK, list)
	case of.GroupVersion != "":
		writeResponse(w, http.StatusOK, of)
	default:
		return false
	}
	return true
}

func (r Resource) describe() []metav1.APIResource {
	verbs := metav1.Verbs{verbGet, verbList, verbWatch, verbCreate, verbUpdate, verbPatch, verbDelete}
	list := []metav1.APIResource{{Name: r.Plural, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: verbs}}
	if r.Status {
		list = append(list, metav1.APIResource{Name: r.Plural + "/status", Kind: r.Kind, Namespaced: r.Namespaced, Verbs: verbs})
	}
	return list
}

func (r Resource) resource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}
}

func writeResponse(w http.ResponseWriter, code int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(fmt.Sprintf("%q", err))
	}
	write(w, code, data)
}

func write(w http.ResponseWriter, code int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data) // a caller that has gone misses nothing
}

// writeError answers with a Status.
func writeError(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).Status()
	if known := apierrors.APIStatus(nil); asStatus(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	writeResponse(w, int(status.Code), status)
}
