package stream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// serve is an API server that answers any request with the stream.
func serve(t *testing.T, stream string) (connection *rest.Config, asked <-chan string) {
	t.Helper()
	requests := make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, requests
}

const (
	added = `{"type":"ADDED","object":{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"namespace":"team","name":"a",` +
		`"resourceVersion":"7","managedFields":[{"manager":"m"}]},"spec":{"queueName":"q","podSets":[]}}}` + "\n"
	bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"resourceVersion":"9",` +
		`"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"podSets":null}}}` + "\n"
	expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}` + "\n"
)

func TestAWatchSeesWhatTheServerStreams(t *testing.T) {
	connection, asked := serve(t, added+bookmark+expired)
	own, err := restClient(connection, scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := watcher(own)(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("/apis/kueue.x-k8s.io/v1beta2/workloads?allowWatchBookmarks=true&resourceVersion=5&watch=true", <-asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var got []watch.Event
	for event := range w.ResultChan() {
		got = append(got, event)
	}
	queued := kueue.WorkloadSpec{QueueName: "q", PodSets: []kueue.PodSet{}}
	want := []watch.Event{
		{Type: watch.Added, Object: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a", ResourceVersion: "7"}, Spec: queued}},
		{Type: watch.Bookmark, Object: &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}},
		{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Message: "too old", Reason: metav1.StatusReasonExpired, Code: http.StatusGone}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOnlyTheInformerOfWorkloadsWatchesByItself(t *testing.T) {
	connection, _ := serve(t, added+bookmark)
	newInformer, err := Informers(connection, scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	generally := make(chan struct{}, 16)
	general := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &kueue.WorkloadList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			generally <- struct{}{}
			return watch.NewFake(), nil
		},
	}
	seen := make(chan string, 16)
	informer := newInformer(general, &kueue.Workload{}, time.Hour, toolscache.Indexers{})
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		if wl, ok := o.(*kueue.Workload); ok {
			seen <- wl.Name
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	if got := <-seen; got != "a" || len(generally) > 0 {
		t.Errorf("%q was seen, by the general watch: %d", got, len(generally))
	}
	go newInformer(general, &corev1.Namespace{}, time.Hour, toolscache.Indexers{}).RunWithContext(ctx)
	<-generally
}
