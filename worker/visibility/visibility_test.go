package visibility

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/apiserver/apiservertest"
	"switchyard.dev/worker/kube/polltest"
)

// twoTeams are a ClusterQueue with two LocalQueues and five workloads.
func twoTeams() []client.Object {
	return []client.Object{
		testClusterQueue("cq"), testLocalQueue("red", "cq"), testLocalQueue("blue", "cq"), testLocalQueue("lost", "nowhere"),
		testWorkload("a", "red", 0, 50), testWorkload("b", "blue", 0, 40), testWorkload("c", "red", 7, 30), testWorkload("d", "red", 0, 20),
		testWorkload("e", "blue", 0, 10), testWorkload("f", "lost", 0, 10),
	}
}

func stopped(lq *kueue.LocalQueue, policy kueue.StopPolicy) *kueue.LocalQueue {
	lq.Spec.StopPolicy = policy
	return lq
}

func stoppedClusterQueue(cq *kueue.ClusterQueue) *kueue.ClusterQueue {
	cq.Spec.StopPolicy = kueue.HoldAndDrain
	return cq
}

func TestWhatWaitsInAQueue(t *testing.T) {
	const clusterQueue, localQueues = "v1beta2/clusterqueues/cq/pendingworkloads", "v1beta2/namespaces/ns/localqueues/"
	for name, c := range map[string]struct {
		path string
		also []client.Object
		want string
	}{
		"all of a ClusterQueue, in its order":         {clusterQueue, nil, "c/0/0 a/1/1 b/2/0 d/3/2 e/4/1"},
		"the same in the older version":               {"v1beta1/clusterqueues/cq/pendingworkloads", nil, "c/0/0 a/1/1 b/2/0 d/3/2 e/4/1"},
		"a LocalQueue's, with the position among all": {localQueues + "blue/pendingworkloads", nil, "b/2/0 e/4/1"},
		"a page, whose places count what was skipped": {clusterQueue + "?offset=2&limit=2", nil, "b/2/0 d/3/2"},
		"a page of a LocalQueue":                      {localQueues + "red/pendingworkloads?offset=1&limit=1", nil, "a/1/1"},
		"no limit stands for the usual one":           {clusterQueue + "?offset=3&limit=0", nil, "d/3/2 e/4/1"},
		"a negative offset is none":                   {clusterQueue + "?offset=-3&limit=1", nil, "c/0/0"},
		"a negative limit asks for nothing":           {clusterQueue + "?limit=-1", nil, ""},
		"beyond the end there is nothing":             {clusterQueue + "?offset=9", nil, ""},
		"more than there can be":                      {clusterQueue + "?offset=4&limit=9000000000000", nil, "e/4/1"},
		"a LocalQueue without a ClusterQueue":         {localQueues + "lost/pendingworkloads", nil, ""},
		"a stopped ClusterQueue": {
			clusterQueue, []client.Object{stoppedClusterQueue(testClusterQueue("cq"))}, "c/0/0 a/1/1 b/2/0 d/3/2 e/4/1",
		},
		"without those of a stopped LocalQueue": {
			clusterQueue, []client.Object{stopped(testLocalQueue("red", "cq"), kueue.Hold)}, "b/0/0 e/1/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, append(twoTeams(), c.also...)...)
			if got := e.list(c.path); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		status int
		text   string
	}{
		"a ClusterQueue": {"v1beta2/clusterqueues/none/pendingworkloads", http.StatusNotFound, `clusterqueue.visibility.kueue.x-k8s.io "none" not found`},
		"a LocalQueue": {
			"v1beta1/namespaces/ns/localqueues/none/pendingworkloads", http.StatusNotFound, `localqueue.visibility.kueue.x-k8s.io "none" not found`,
		},
		"a LocalQueue of another namespace": {
			"v1beta2/namespaces/other/localqueues/red/pendingworkloads", http.StatusNotFound, `localqueue.visibility.kueue.x-k8s.io "red" not found`,
		},
		"a stopped LocalQueue": {
			"v1beta2/namespaces/ns/localqueues/closed/pendingworkloads", http.StatusNotFound, `localqueue.visibility.kueue.x-k8s.io "closed" not found`,
		},
		"a queue by itself":  {"v1beta2/clusterqueues/cq", http.StatusNotFound, "the server could not find the requested resource"},
		"a list of queues":   {"v1beta2/clusterqueues", http.StatusNotFound, "the server could not find the requested resource"},
		"an offset in words": {"v1beta2/clusterqueues/cq/pendingworkloads?offset=two", http.StatusBadRequest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, append(twoTeams(), stopped(testLocalQueue("closed", "cq"), kueue.HoldAndDrain))...)
			status, text := e.get(c.path)
			var answer metav1.Status
			_ = json.Unmarshal([]byte(text), &answer)
			if status != c.status || c.text != "" && answer.Message != c.text {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
}

func TestAnEmptyQueueHasAnEmptyList(t *testing.T) {
	_, text := newTestEnv(t, testClusterQueue("cq")).get("v1beta1/clusterqueues/cq/pendingworkloads")
	const want = `{"kind":"PendingWorkloadsSummary","apiVersion":"visibility.kueue.x-k8s.io/v1beta1","metadata":{},"items":[]}`
	if diff := cmp.Diff(want+"\n", text); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsSaidOfAWorkload(t *testing.T) {
	wl := testWorkload("a", "red", 5, 60)
	wl.Labels = map[string]string{"secret": "x"}
	wl.Annotations = map[string]string{kueue.PriorityBoostAnnotation: "100"}
	wl.Finalizers = []string{"f"}
	wl.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: "u", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	plain := testWorkload("b", "red", 0, 10)
	plain.Spec.Priority = nil
	e := newTestEnv(t, testClusterQueue("cq"), testLocalQueue("red", "cq"), wl, plain)
	_, text := e.get("v1beta2/namespaces/ns/localqueues/red/pendingworkloads")
	const want = `{"kind":"PendingWorkloadsSummary","apiVersion":"visibility.kueue.x-k8s.io/v1beta2","metadata":{},"items":[` +
		`{"metadata":{"name":"a","namespace":"ns","creationTimestamp":"2026-11-26T08:59:00Z",` +
		`"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"u"}]},` +
		`"priority":5,"localQueueName":"red","positionInClusterQueue":0,"positionInLocalQueue":0},` +
		`{"metadata":{"name":"b","namespace":"ns","creationTimestamp":"2026-11-26T08:59:50Z"},` +
		`"priority":0,"localQueueName":"red","positionInClusterQueue":1,"positionInLocalQueue":1}]}`
	if diff := cmp.Diff(want+"\n", text); diff != "" {
		t.Error(diff)
	}
}

// Clients learn of both versions from discovery and OpenAPI.
func TestDescriptions(t *testing.T) {
	e := newTestEnv(t)
	for _, version := range []string{"v1beta1", "v1beta2"} {
		_, text := e.get(version)
		var resources metav1.APIResourceList
		if err := json.Unmarshal([]byte(text), &resources); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range resources.APIResources {
			got[r.Name] = fmt.Sprint(r.SingularName, " ", r.Namespaced, " ", r.Kind, " ", r.Verbs)
		}
		want := map[string]string{
			"clusterqueues":                  "clusterqueue false ClusterQueue []",
			"clusterqueues/pendingworkloads": " false PendingWorkloadsSummary [get]",
			"localqueues":                    "localqueue true LocalQueue []",
			"localqueues/pendingworkloads":   " true PendingWorkloadsSummary [get]",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/visibility.kueue.x-k8s.io/v1beta1", "/openapi/v3/apis/visibility.kueue.x-k8s.io/v1beta2"} {
		status, text := apiservertest.Get(t, e.server, "alice", path, "Accept", "application/json")
		for _, part := range []string{
			`"title":"Kueue visibility-server"`, `"io.x-k8s.kueue.visibility.v1beta2.PendingWorkload":`, `"io.x-k8s.kueue.visibility.v1beta2.PendingWorkloadsSummary":`,
			`"name":"limit"`, `"positionInClusterQueue"`,
		} {
			if status != http.StatusOK || !strings.Contains(text, part) {
				t.Errorf("%s: status %d, no %s", path, status, part)
			}
		}
	}
}

func TestTable(t *testing.T) {
	e := newTestEnv(t, twoTeams()...)
	for _, object := range []string{"", "&includeObject=None", "&includeObject=Object"} {
		status, text := e.get("v1beta1/clusterqueues/cq/pendingworkloads?limit=2"+object, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		var table metav1.Table
		if err := json.Unmarshal([]byte(text), &table); err != nil || status != http.StatusOK || table.Kind != "Table" {
			t.Fatalf("%s: status %d, error %v: %s", object, status, err, text)
		}
		var rows [][]any
		for _, row := range table.Rows {
			rows = append(rows, row.Cells)
		}
		want := [][]any{
			{0.0, "ns", "c", "red", 0.0, 7.0, "30s"},
			{1.0, "ns", "a", "red", 1.0, 0.0, "50s"},
		}
		if diff := cmp.Diff(want, rows); diff != "" || len(table.ColumnDefinitions) != len(want[0]) {
			t.Errorf("%s: %d columns, %s", object, len(table.ColumnDefinitions), diff)
		}
	}
}

// A list is made again when it is older than it may be, and at once where it took no time.
func TestAListIsMadeAgain(t *testing.T) {
	e := newTestEnv(t, twoTeams()...)
	p := newPositions(e.view, e.clock)
	first := p.of("cq")
	p.queues["cq"].cost = 10 * time.Millisecond
	e.clock.Step(ageFactor * 10 * time.Millisecond)
	if p.of("cq") != first {
		t.Error("it was made again too early")
	}
	e.clock.Step(time.Nanosecond)
	second := p.of("cq")
	p.queues["cq"].cost = time.Hour
	e.clock.Step(maxAge + 1)
	if second == first || p.of("cq") == second {
		t.Error("it was not made again")
	}
}

func TestListsThatNobodyAsksForAreForgotten(t *testing.T) {
	e := newTestEnv(t, twoTeams()...)
	p := newPositions(e.view, e.clock)
	count := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.queues)
	}
	p.of("cq")
	e.clock.Step(idleTime / 2)
	p.of("cq")
	e.clock.Step(idleTime / 2)
	if !polltest.Holds(t, e.clock.HasWaiters) || count() != 1 { // it will look again
		t.Error("it was forgotten although it was asked for")
	}
	e.clock.Step(idleTime)
	if !polltest.Holds(t, func() bool { return count() == 0 }) {
		t.Error("it was not forgotten")
	}
}

// What has gone since the list was made is left out, and so is another workload of the same name.
func TestWhatIsGoneIsLeftOut(t *testing.T) {
	e := newTestEnv(t, twoTeams()...)
	p := newPositions(e.view, e.clock)
	l := p.of("cq")
	e.remove(testWorkload("c", "red", 7, 30))
	again := testWorkload("b", "blue", 0, 40)
	again.UID = "another"
	e.remove(testWorkload("b", "blue", 0, 40))
	e.deliver(again)
	var names []string
	for _, w := range summarize(e.view, l, l.places(0, 3)).Items {
		names = append(names, w.Name)
	}
	if diff := cmp.Diff([]string{"a"}, names); diff != "" {
		t.Error(diff)
	}
}

// The places in LocalQueues are those that counting gives, whether only the beginning of the list is asked for or all of it.
func TestPlacesInLocalQueues(t *testing.T) {
	e := newTestEnv(t, testClusterQueue("cq"), stopped(testLocalQueue("lq6", "cq"), kueue.Hold))
	for i := range 6 {
		e.deliver(testLocalQueue(fmt.Sprintf("lq%d", i), "cq"))
	}
	for i := range earlyPlaces + 1000 {
		e.deliver(testWorkload(fmt.Sprintf("w%d", i), fmt.Sprintf("lq%d", i*i%7), int32(i%3), i))
	}
	l := newList(e.view.PendingOrder("cq").List())
	early := l.places(0, 100)
	all := l.places(0, l.Len())
	counts := map[string]int32{}
	for i := range l.Len() {
		local := l.At(i).LocalQueue
		if want := (place{int32(i), counts[local]}); all[i] != want || i < len(early) && early[i] != want {
			t.Fatalf("at %d: %v, want %v", i, all[i], want)
		}
		if at := l.positionsOf(admission.Key{Namespace: "ns", Name: local}); at[counts[local]] != int32(i) {
			t.Fatalf("%s has %d at %d, want %d", local, at[counts[local]], counts[local], i)
		}
		counts[local]++
	}
	if counts["lq6"] != 0 || len(counts) < 4 {
		t.Errorf("counted %v", counts)
	}
}
