package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	accessapi "switchyard.dev/apis/access/v1alpha1"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// fleetServer plays what a hub serves below clusters/{name}/proxy of access.switchyard.dev, and an API server that has just that.
type fleetServer struct {
	*httptest.Server

	t *testing.T
	// sites are the objects of each worker.
	sites map[string]*kubeclient.Client
	// refuses is the error that answers requests of which cluster and path end so.
	refuses map[string]*apierrors.StatusError
	// refuseOnce tells that each of them is answered once.
	refuseOnce bool

	// follow, if set, is what a log waits for before it ends.
	follow func(*http.Request)

	mu sync.Mutex
	// asked are the requests, without discovery, as METHOD PATH?QUERY below the base path's proxy, each with its cluster in front.
	asked []string
	// written is what was sent to containers.
	written string
}

// fleetKinds are the resources that are served, by group and version.
var fleetKinds = map[string]map[string]string{
	"v1":                            {"pods": "Pod", "events": "Event"},
	"batch/v1":                      {"jobs": "Job"},
	"ray.io/v1":                     {"rayclusters": "RayCluster", "rayjobs": "RayJob"},
	"apps/v1":                       {"replicasets": "ReplicaSet"},
	"authorization.k8s.io/v1":       {"selfsubjectaccessreviews": "SelfSubjectAccessReview"},
	"jobset.x-k8s.io/v1alpha2":      {"jobsets": "JobSet"},
	"kubeflow.org/v2beta1":          {"mpijobs": "MPIJob"},
	"trainer.kubeflow.org/v1alpha1": {"trainjobs": "TrainJob"},
}

// withFleet makes the hub show its users the pods of workers.
func (x *terminal) withFleet(workers map[string][]client.Object) *fleetServer {
	x.t.Helper()
	s := &fleetServer{t: x.t, sites: map[string]*kubeclient.Client{}, refuses: map[string]*apierrors.StatusError{}}
	for name, objects := range workers {
		s.sites[name] = x.site(name, interceptor.Funcs{}, objects...)
	}
	s.Server = httptest.NewServer(s)
	x.t.Cleanup(s.Close)
	x.hub.Config = &rest.Config{Host: s.URL}
	discovery, _ := x.hub.Kube.Discovery().(*fakediscovery.FakeDiscovery)
	discovery.Resources = append(discovery.Resources, &metav1.APIResourceList{GroupVersion: "access.switchyard.dev/v1alpha1"})
	return s
}

// directly makes a worker one that users reach by themselves.
func (s *fleetServer) directly(x *terminal, worker string) {
	x.workers[worker] = s.sites[worker]
	x.workers[worker].Config = &rest.Config{Host: s.URL + accessapi.BasePath(worker)}
}

// requests are those that were made, discovery apart.
func (s *fleetServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// ServeHTTP implements http.Handler.
func (s *fleetServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.Path, "/apis/access.switchyard.dev/v1alpha1/clusters/")
	cluster, path, split := strings.Cut(below, "/proxy")
	if !ok || !split || cluster != "all" && s.sites[cluster] == nil {
		s.t.Errorf("nobody serves %s", r.URL.Path)
		http.NotFound(w, r)
		return
	}
	if s.discovers(w, strings.Trim(path, "/")) {
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSuffix(fmt.Sprintf("%s: %s %s?%s", cluster, r.Method, path, r.URL.RawQuery), "?"))
	s.mu.Unlock()
	for end, err := range s.refuses {
		if strings.HasSuffix(cluster+path, end) {
			s.mu.Lock()
			if s.refuseOnce {
				delete(s.refuses, end)
			}
			s.mu.Unlock()
			answer(w, int(err.ErrStatus.Code), err.ErrStatus)
			return
		}
	}
	s.serve(w, r, cluster, strings.Split(strings.Trim(path, "/"), "/"))
}

// answer writes JSON.
func answer(w http.ResponseWriter, code int, value any) {
	if status, ok := value.(metav1.Status); ok {
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		value = status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

// discovers answers requests about what is served.
func (s *fleetServer) discovers(w http.ResponseWriter, path string) bool {
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for text, kinds := range fleetKinds {
		gv, _ := schema.ParseGroupVersion(text)
		if path == "apis/"+text || path == "api/"+text {
			list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: text}
			for plural, kind := range kinds {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural, SingularName: strings.ToLower(kind), Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list"}})
			}
			answer(w, http.StatusOK, list)
			return true
		}
		if gv.Group != "" {
			version := metav1.GroupVersionForDiscovery{GroupVersion: text, Version: gv.Version}
			group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
			if path == "apis/"+gv.Group {
				answer(w, http.StatusOK, group)
				return true
			}
			groups.Groups = append(groups.Groups, group)
		}
	}
	switch path {
	case "apis":
		answer(w, http.StatusOK, groups)
	case "api":
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	default:
		return false
	}
	return true
}

// sitesOf are the workers that a name stands for.
func (s *fleetServer) sitesOf(cluster string) (list []*kubeclient.Client) {
	for name, site := range s.sites {
		if cluster == "all" || cluster == name {
			list = append(list, site)
		}
	}
	return list
}

// serve answers requests for objects: parts are those of the path, [api v1 namespaces NS pods NAME SUB].
func (s *fleetServer) serve(w http.ResponseWriter, r *http.Request, cluster string, parts []string) {
	group, version, rest := "", parts[1], parts[2:]
	if parts[0] == "apis" {
		group, version, rest = parts[1], parts[2], parts[3:]
	}
	if len(rest) < 3 || rest[0] != "namespaces" {
		answer(w, http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{Group: group}, "only one namespace at a time").ErrStatus)
		return
	}
	gv := schema.GroupVersion{Group: group, Version: version}
	kind := gv.WithKind(fleetKinds[gv.String()][rest[2]])
	switch {
	case len(rest) == 3:
		s.list(w, r, cluster, kind, rest[1])
	case len(rest) == 4:
		s.get(w, cluster, kind, rest[1], rest[3])
	case rest[4] == "log":
		q := r.URL.Query()
		_, _ = fmt.Fprintf(w, "log of %s/%s", rest[3], q.Get("container"))
		for _, key := range []string{"follow", "previous", "tailLines", "sinceSeconds", "limitBytes", "timestamps"} {
			if q.Has(key) {
				_, _ = fmt.Fprintf(w, " %s=%s", key, q.Get(key))
			}
		}
		if s.follow != nil {
			s.follow(r)
		}
	default:
		s.connect(w, r)
	}
}

func (s *fleetServer) list(w http.ResponseWriter, r *http.Request, cluster string, kind schema.GroupVersionKind, namespace string) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for _, site := range s.sitesOf(cluster) {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := site.List(r.Context(), page, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			s.t.Error(err)
		}
		all.Items = append(all.Items, page.Items...)
	}
	answer(w, http.StatusOK, all)
}

func (s *fleetServer) get(w http.ResponseWriter, cluster string, kind schema.GroupVersionKind, namespace, name string) {
	for _, site := range s.sitesOf(cluster) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		if site.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj) == nil {
			answer(w, http.StatusOK, obj)
			return
		}
	}
	answer(w, http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}, name).ErrStatus)
}

// connect runs a command of a container: "fail" ends with 7, "cat" writes its input back, "tar cf" sends a file, others say what they are.
func (s *fleetServer) connect(w http.ResponseWriter, r *http.Request) {
	read, write := wsstream.ReadChannel, wsstream.WriteChannel
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommand.StreamProtocolV5Name: {Binary: true, Channels: []wsstream.ChannelType{read, write, write, write, read}},
	})
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return // Open has answered
	}
	defer conn.Close()
	stdin, stdout, ends := streams[0], streams[1], streams[3]
	command := r.URL.Query()["command"]
	status := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case len(command) == 0: // attach
		_, _ = io.WriteString(stdout, "attached\n")
	case command[0] == "fail", command[len(command)-1] == "/broken":
		code := map[bool]string{true: "7", false: "2"}[command[0] == "fail"]
		status = metav1.Status{Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: "command terminated with exit code " + code, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: code}},
		}}
	case command[0] == "cat":
		text := make([]byte, 5)
		_, _ = io.ReadFull(stdin, text)
		s.mu.Lock()
		s.written = string(text)
		s.mu.Unlock()
		_, _ = stdout.Write(text)
	case strings.HasPrefix(strings.Join(command, " "), "tar -xmf"):
		_, _ = io.Copy(io.Discard, tar.NewReader(stdin)) // until the first file
	case strings.HasPrefix(strings.Join(command, " "), "tar cf"):
		archive := tar.NewWriter(stdout)
		_ = archive.WriteHeader(&tar.Header{Name: "work/model", Mode: 0o600, Size: 5, Typeflag: tar.TypeReg})
		_, _ = io.WriteString(archive, "model")
		_ = archive.Close()
	default:
		_, _ = fmt.Fprintf(stdout, "ran %s\n", strings.Join(command, " "))
	}
	_ = json.NewEncoder(ends).Encode(status)
}

// aRunningPod is one of a job, that has run for long.
func aRunningPod(name, label, value string) *corev1.Pod {
	p := aPod(name)
	p.Labels = map[string]string{label: value}
	p.Status.Phase = corev1.PodRunning
	return p
}
