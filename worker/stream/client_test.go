package stream

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// answering is a client of a server that answers any request so, and the last one that the server got.
func answering(t *testing.T, code int, answer string) (c client.Client, asked func() string) {
	t.Helper()
	last := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	c, err := Client(fake.NewClientBuilder().WithScheme(scheme(t)).Build(), &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() string { return last }
}

func named() *kueue.Workload {
	return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
}

func TestAPatchOfAStatusHasTheServersAnswer(t *testing.T) {
	c, asked := answering(t, http.StatusOK, typical)
	first, second := named(), named()
	first.Spec.QueueName, first.Status.ClusterName = "was", new("was")
	for _, wl := range []*kueue.Workload{first, second} {
		err := c.Status().Patch(t.Context(), wl, client.RawPatch(types.ApplyPatchType, []byte(`{}`)), client.FieldOwner("me"), client.ForceOwnership)
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "PATCH /apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads/a/status?fieldManager=me&force=true application/apply-patch+yaml {}"
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, general := decoders(t)
	whole := &kueue.Workload{}
	if _, _, err := general.Decode([]byte(typical), nil, whole); err != nil {
		t.Fatal(err)
	}
	whole.ManagedFields = nil
	if diff := cmp.Diff(whole, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if &first.Spec.PodSets[0] == &second.Spec.PodSets[0] {
		t.Error("what may be changed is shared")
	}
}

func TestAPatchThatIsRefusedHasTheServersReason(t *testing.T) {
	conflict := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"changed","reason":"Conflict","code":409}`
	c, _ := answering(t, http.StatusConflict, conflict)
	before := named()
	after := before.DeepCopy()
	after.Status.ClusterName = new("x")
	if err := c.Status().Patch(t.Context(), after, client.MergeFrom(before)); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoStatusOfAWorkloadIsWrittenAsEver(t *testing.T) {
	c, asked := answering(t, http.StatusOK, typical)
	lq := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	for name, err := range map[string]error{
		"another kind":        c.Status().Patch(t.Context(), lq, client.RawPatch(types.MergePatchType, []byte(`{}`))),
		"another subresource": c.SubResource("scale").Patch(t.Context(), named(), client.RawPatch(types.MergePatchType, []byte(`{}`))),
		"another body": c.Status().Patch(t.Context(), named(), client.RawPatch(types.MergePatchType, []byte(`{}`)),
			&client.SubResourcePatchOptions{SubResourceBody: named()}),
		"all but the status": c.Patch(t.Context(), named(), client.RawPatch(types.MergePatchType, []byte(`{}`))),
	} {
		if err == nil || asked() != "" { // the client within has no objects
			t.Errorf("%s: %v, the server was asked %q", name, err, asked())
		}
	}
}

func TestOnlyWorkloadsAreDecodedIntoOnes(t *testing.T) {
	ours, general := decoders(t)
	for _, text := range []string{typical, `{"kind":"Status","apiVersion":"v1","status":"Failure"}`, `{`, `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{},"x":1}`} {
		got := decodeInto(ours, text)
		want := decodeInto(general, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60s: -want +got:\n%s", text, diff)
		}
	}
}

// decodeInto returns what the text leaves in a Workload, what it is, and whether there was an error.
func decodeInto(d runtime.Decoder, text string) []any {
	wl := &kueue.Workload{}
	if _, ours := d.(runtime.WithoutVersionDecoder).Decoder.(quick); ours {
		wl.Spec.QueueName = "was"
	}
	out, _, err := d.Decode([]byte(text), nil, wl)
	wl.ManagedFields = nil
	return []any{wl, out == runtime.Object(wl), err != nil}
}
