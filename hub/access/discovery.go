package access

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// apiResources are what is served, by group and version.
func (h *Handler) apiResources() map[schema.GroupVersion][]metav1.APIResource {
	read := metav1.Verbs{"get", "list", "watch"}
	connect := metav1.Verbs{"create", "get"}
	core, newer := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: eventsGroup, Version: "v1"}
	served := map[schema.GroupVersion][]metav1.APIResource{
		core: {
			{Name: resourceEvents, SingularName: "event", Namespaced: true, Kind: "Event", ShortNames: []string{"ev"}, Verbs: read},
			{Name: resourcePods, SingularName: "pod", Namespaced: true, Kind: "Pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Verbs: read},
			{Name: "pods/attach", Namespaced: true, Kind: "PodAttachOptions", Verbs: connect},
			{Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: connect},
			{Name: "pods/log", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}},
			{Name: "pods/portforward", Namespaced: true, Kind: "PodPortForwardOptions", Verbs: connect},
		},
		newer: {{Name: resourceEvents, SingularName: "event", Namespaced: true, Kind: "Event", ShortNames: []string{"ev"}, Verbs: read}},
		selfReview.GroupVersion(): {
			{Name: selfReview.Resource, SingularName: "selfsubjectaccessreview", Kind: "SelfSubjectAccessReview", Verbs: metav1.Verbs{"create"}},
		},
	}
	for _, kind := range h.kinds.jobKinds() {
		gv, resource := kind.GroupVersion(), plural(kind)
		if resource == podsV1 {
			continue
		}
		served[gv] = append(served[gv], metav1.APIResource{
			Name: resource.Resource, SingularName: strings.ToLower(kind.Kind), Namespaced: true, Kind: kind.Kind, Verbs: read,
		})
	}
	return served
}

// discover answers requests for what is served.
func (h *Handler) discover(w http.ResponseWriter, path string) error {
	served := h.apiResources()
	switch parts := strings.Split(path, "/"); {
	case path == "":
		return writeJSON(w, http.StatusOK, metav1.RootPaths{Paths: []string{"/api", "/api/v1", "/apis", "/version"}})
	case path == "version":
		info, err := h.version()
		if err != nil {
			return fmt.Errorf("ask the hub's API server for its version: %w", err)
		}
		return writeJSON(w, http.StatusOK, info)
	case path == "api":
		return writeJSON(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}, ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		})
	case path == "apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: apiGroups(served)}
		return writeJSON(w, http.StatusOK, list)
	case parts[0] == "apis" && len(parts) == 2:
		for _, group := range apiGroups(served) {
			if group.Name == parts[1] {
				group.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}
				return writeJSON(w, http.StatusOK, group)
			}
		}
	default:
		gv := schema.GroupVersion{Version: parts[1]}
		if parts[0] == "apis" {
			gv = schema.GroupVersion{Group: parts[1], Version: parts[2]}
		}
		if list := served[gv]; len(list) > 0 {
			return writeJSON(w, http.StatusOK, metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String(), APIResources: list,
			})
		}
	}
	return notServed("there is nothing at /" + path)
}

// apiGroups are the groups that are served, by name, but the one without name.
func apiGroups(served map[schema.GroupVersion][]metav1.APIResource) []metav1.APIGroup {
	versions := map[string][]string{}
	for gv := range served {
		if gv.Group != "" {
			versions[gv.Group] = append(versions[gv.Group], gv.Version)
		}
	}
	groups := make([]metav1.APIGroup, 0, len(versions))
	for name, list := range versions {
		slices.Sort(list)
		group := metav1.APIGroup{Name: name}
		for _, v := range list {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
		}
		group.PreferredVersion = group.Versions[len(group.Versions)-1]
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b metav1.APIGroup) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

// reviewCodecs read reviews.
var reviewCodecs = func() serializer.CodecFactory {
	known := runtime.NewScheme()
	known.AddKnownTypes(authorizationv1.SchemeGroupVersion, &authorizationv1.SelfSubjectAccessReview{})
	return serializer.NewCodecFactory(known)
}()

// maxReview is the largest SelfSubjectAccessReview that is read, in bytes.
const maxReview = 64 << 10

// answerReview answers a SelfSubjectAccessReview.
func (h *Handler) answerReview(w http.ResponseWriter, req *http.Request, who user.Info) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	review := &authorizationv1.SelfSubjectAccessReview{}
	if err == nil {
		_, _, err = reviewCodecs.UniversalDeserializer().Decode(raw, nil, review) // kubectl sends it in binary
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("this is no SelfSubjectAccessReview: %s", plainText(err.Error())))
	}
	a := authorizer.AttributesRecord{User: who}
	if wanted := review.Spec.ResourceAttributes; wanted != nil {
		a.ResourceRequest, a.Verb, a.Namespace, a.Name = true, wanted.Verb, wanted.Namespace, wanted.Name
		a.APIGroup, a.APIVersion, a.Resource, a.Subresource = wanted.Group, wanted.Version, wanted.Resource, wanted.Subresource
	}
	allowed, reason, err := h.review(req.Context(), a)
	if err != nil {
		return fmt.Errorf("ask the hub's API server for the caller's rights: %w", err)
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: selfReview.GroupVersion().String(), Kind: "SelfSubjectAccessReview"}
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Reason: reason}
	return writeJSON(w, http.StatusCreated, review)
}

func writeJSON(w http.ResponseWriter, code int, answer any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	w.Header().Set("Content-Type", acceptJSON)
	w.WriteHeader(code)
	_, _ = w.Write(raw) // the caller may have left
	return nil
}
