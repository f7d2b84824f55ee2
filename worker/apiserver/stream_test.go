package apiserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapicommon "k8s.io/kube-openapi/pkg/common"

	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/worker/apiserver"
	"switchyard.dev/worker/apiserver/apiservertest"
)

// proxy is a resource clusters whose subresource proxy gives every request to a handler.
type proxy struct{ http.Handler }

func (proxy) New() runtime.Object      { return &visibility.ClusterQueue{} }
func (proxy) Destroy()                 {}
func (proxy) NamespaceScoped() bool    { return false }
func (proxy) GetSingularName() string  { return "cluster" }
func (proxy) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }
func (p proxy) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return p.Handler, nil
}

func (proxy) NewConnectOptions() (options runtime.Object, withPath bool, pathParameter string) {
	return &visibility.PendingWorkloadOptions{}, true, "path"
}

// proxyGroup serves a handler at clusters/{name}/proxy/{path}.
func proxyGroup(tb testing.TB, handler http.Handler) apiserver.Group {
	tb.Helper()
	scheme := runtime.NewScheme()
	apiserver.AddToScheme(scheme)
	if err := visibility.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	if err := scheme.AddConversionFunc((*url.Values)(nil), (*visibility.PendingWorkloadOptions)(nil), func(any, any, conversion.Scope) error { return nil }); err != nil {
		tb.Fatal(err)
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(
		visibility.GroupName, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	info.VersionedResourcesStorageMap["v1beta2"] = map[string]rest.Storage{
		"clusters": parent{}, "clusters/proxy": proxy{handler},
	}
	return apiserver.Group{APIGroupInfo: &info, Definitions: func(openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
		all := map[string]openapicommon.OpenAPIDefinition{}
		for _, name := range []string{
			visibility.ClusterQueue{}.OpenAPIModelName(), visibility.PendingWorkloadOptions{}.OpenAPIModelName(),
		} {
			all[name] = openapicommon.OpenAPIDefinition{}
		}
		return all
	}}
}

type parent struct{}

func (parent) New() runtime.Object     { return &visibility.ClusterQueue{} }
func (parent) Destroy()                {}
func (parent) NamespaceScoped() bool   { return false }
func (parent) GetSingularName() string { return "cluster" }

func everything(authorizationv1.SubjectAccessReviewSpec) bool { return true }

const proxyPath = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusters/w1/proxy/api/v1/pods"

// What a handler writes and flushes comes at once, and may go on.
func TestStreamsPassAllFilters(t *testing.T) {
	more := make(chan struct{})
	s := apiservertest.Serve(t, everything, proxyGroup(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "line %d\n", i)
			w.(http.Flusher).Flush()
			<-more
		}
	})))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+proxyPath+"?follow=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer alice")
	response, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("line %d", i) {
			t.Fatalf("%q, error %v", lines.Text(), lines.Err())
		}
		more <- struct{}{}
	}
}

// A connection may be taken over for SPDY or WebSocket, with a body or without.
func TestConnectionsMayBeTakenOver(t *testing.T) {
	s := apiservertest.Serve(t, everything, proxyGroup(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_, err = io.Copy(conn, buffered)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", method, proxyPath)
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v, error %v", response, err)
			}
			defer response.Body.Close()
			fmt.Fprintln(conn, "echo")
			if line, err := reader.ReadString('\n'); line != "echo\n" || err != nil {
				t.Errorf("%q, error %v", line, err)
			}
		})
	}
}

// Nothing is stored here, so that only what is passed on may have a body.
func TestBodiesAreRefused(t *testing.T) {
	s := apiservertest.Serve(t, everything, proxyGroup(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})))
	for path, want := range map[string]int{
		"/apis/visibility.kueue.x-k8s.io/v1beta2": http.StatusRequestEntityTooLarge, proxyPath: http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer alice")
		response, err := s.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != want {
			t.Errorf("%s: status %d, error %v", path, response.StatusCode, err)
		}
	}
}
