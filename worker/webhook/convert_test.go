package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	kueuev1beta1 "switchyard.dev/apis/kueue/v1beta1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// random is a Workload that often is plain.
func random(t *testing.T, seed int64) []byte {
	t.Helper()
	wl := &kueue.Workload{}
	fill := randfill.NewWithSeed(seed).NilChance(0.8).NumElements(1, 3).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) { q.Set(c.Int63n(1 << 40)) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<32), 0).UTC() },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) {
			f.SetRawString(`{"f:status":{"k:{\"type\":\"\\\\\"}":{}}}`)
		},
		func(s *corev1.PodSpec, c randfill.Continue) { c.Fill(&s.Containers) },
		func(g *kueue.PreemptionGate, c randfill.Continue) { c.FillNoCustom(g) },
		func(a *kueue.TopologyAssignment, _ randfill.Continue) {
			*a = *kueue.EncodeTopologyAssignment([]string{"rack"}, []kueue.TopologyDomain{{Values: []string{"r1"}, Count: 2}})
		},
	)
	fill.Fill(wl)
	wl.APIVersion, wl.Kind = kueue.GroupVersion.String(), "Workload"
	text, err := json.Marshal(wl)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func reviewOf(t *testing.T, version string, objects ...[]byte) []byte {
	t.Helper()
	question := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{UID: "1", DesiredAPIVersion: version}}
	question.APIVersion, question.Kind = "apiextensions.k8s.io/v1", "ConversionReview"
	question.Response = &apiextensionsv1.ConversionResponse{} // as the API server has it
	for _, o := range objects {
		question.Request.Objects = append(question.Request.Objects, runtime.RawExtension{Raw: o})
	}
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ofOld reads the answer to a review.
func ofOld(t *testing.T, answer []byte) []kueuev1beta1.Workload {
	t.Helper()
	review := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(answer, review); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if review.Kind != "ConversionReview" || review.Response.UID != "1" || review.Response.Result.Status != metav1.StatusSuccess {
		t.Fatalf("got %s", answer)
	}
	var all []kueuev1beta1.Workload
	for _, o := range review.Response.ConvertedObjects {
		var wl kueuev1beta1.Workload
		if err := json.Unmarshal(o.Raw, &wl); err != nil {
			t.Fatal(err)
		}
		all = append(all, wl)
	}
	return all
}

func TestAPlainWorkloadIsConvertedAsByItsType(t *testing.T) {
	same := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })}
	plain := 0
	for seed := range int64(2000) {
		text := random(t, seed)
		answer, ok := convertPlain(reviewOf(t, "kueue.x-k8s.io/v1beta1", text))
		if !ok {
			continue
		}
		plain++
		var from kueue.Workload
		if err := json.Unmarshal(text, &from); err != nil {
			t.Fatal(err)
		}
		var want kueuev1beta1.Workload
		if err := want.ConvertFrom(&from); err != nil {
			t.Fatal(err)
		}
		want.APIVersion, want.Kind = kueuev1beta1.GroupVersion.String(), "Workload"
		if diff := cmp.Diff([]kueuev1beta1.Workload{want}, ofOld(t, answer), same); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
	if plain < 20 {
		t.Errorf("only %d were plain", plain)
	}
}

const plainWorkload = `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"a","labels":{"x":"}\"{"}},"spec":{"podSets":[{"name":"main",` +
	`"count":1,"template":{"spec":{"containers":[]}}}],"queueName":"q","priority":1,"active":true},"status":{"conditions":[{"type":"Admitted"}],` +
	`"admission":{"clusterQueue":"c","podSetAssignments":[{"name":"main","count":1,"flavors":{"cpu":"f"},"resourceUsage":{"cpu":"1"}}]}}}`

func TestOnlyPlainWorkloadsAreConvertedByTheirText(t *testing.T) {
	with := func(part, instead string) string { return strings.Replace(plainWorkload, part, instead, 1) }
	for name, c := range map[string]struct {
		version, text string
		want          bool
	}{
		"a plain one":                  {"v1beta1", plainWorkload, true},
		"a new one":                    {"v1beta1", `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{}}`, true},
		"into another version":         {"v1beta2", plainWorkload, false},
		"from another version":         {"v1beta1", with("v1beta2", "v1beta1"), false},
		"of another kind":              {"v1beta1", with(`"Workload"`, `"LocalQueue"`), false},
		"that does not say what it is": {"v1beta1", with(`"kind":"Workload",`, ``), false},
		"with a class":                 {"v1beta1", with(`"priority":1`, `"priorityClassRef":{}`), false},
		"with gates":                   {"v1beta1", with(`"priority":1`, `"preemptionGates":[]`), false},
		"with a topology request":      {"v1beta1", with(`"count":1,"template"`, `"topologyRequest":{},"template"`), false},
		"with a topology":              {"v1beta1", with(`"count":1,"flavors"`, `"topologyAssignment":{},"flavors"`), false},
		"with a time":                  {"v1beta1", with(`"conditions"`, `"accumulatedPastExecutionTimeSeconds":1,"conditions"`), false},
		"with no list of assignments":  {"v1beta1", `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{},"status":{"admission":{"clusterQueue":"c"}}}`, false},
		"with nothing for a spec":      {"v1beta1", `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{},"spec":null}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if !json.Valid([]byte(c.text)) {
				t.Fatalf("not what is meant: %s", c.text)
			}
			review := strings.Replace(string(reviewOf(t, "kueue.x-k8s.io/"+c.version, []byte("0"))), "[0]", "["+c.text+"]", 1)
			answer, got := convertPlain([]byte(review))
			if got != c.want {
				t.Errorf("converted %t: %s", got, answer)
			}
		})
	}
}

func TestAReviewOfOtherThingsIsLeftToTheGeneralHandler(t *testing.T) {
	left := 0
	handler := converter{general: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left++
		review := &apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
			t.Errorf("got %+v, %v", review, err)
		}
		review.Response, review.Request = &apiextensionsv1.ConversionResponse{UID: "general"}, nil
		_ = json.NewEncoder(w).Encode(review)
	})}
	classy := []byte(strings.Replace(plainWorkload, `"priority":1`, `"priorityClassRef":{}`, 1))
	for name, c := range map[string]struct {
		review []byte
		want   string
	}{
		"plain ones":          {reviewOf(t, "kueue.x-k8s.io/v1beta1", []byte(plainWorkload), []byte(plainWorkload)), "1"},
		"one that is not":     {reviewOf(t, "kueue.x-k8s.io/v1beta1", []byte(plainWorkload), classy), "general"},
		"into our version":    {reviewOf(t, "kueue.x-k8s.io/v1beta2", []byte(plainWorkload)), "general"},
		"of another protocol": {[]byte(strings.Replace(string(reviewOf(t, "kueue.x-k8s.io/v1beta1", []byte(plainWorkload))), "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v2", 1)), "general"},
	} {
		answer := &apiextensionsv1.ConversionReview{}
		post(t, handler, ConversionPath, json.RawMessage(c.review), answer)
		if string(answer.Response.UID) != c.want {
			t.Errorf("%s: answered by %q", name, answer.Response.UID)
		}
	}
	if left != 3 {
		t.Errorf("%d were left", left)
	}
}

func TestThePlainConversionIsServed(t *testing.T) {
	handler := handlers(t)
	for _, c := range []struct{ old, want string }{
		{plainWorkload, `{"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"name":"a"`},
		{strings.Replace(plainWorkload, `"priority":1`, `"priority":1,"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"p"}`, 1), `"priorityClassName":"p"`},
	} {
		answer := &apiextensionsv1.ConversionReview{}
		post(t, handler, ConversionPath, json.RawMessage(reviewOf(t, "kueue.x-k8s.io/v1beta1", []byte(c.old))), answer)
		if got := string(answer.Response.ConvertedObjects[0].Raw); !strings.Contains(got, c.want) {
			t.Errorf("got %s", got)
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	review := []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[` + plainWorkload + `]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := convertPlain(review); !ok {
			b.Fatal("not plain")
		}
	}
}
