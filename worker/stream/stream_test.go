package stream

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	s := runtime.NewScheme()
	if err := kueue.AddToScheme(s); err != nil {
		tb.Fatal(err)
	}
	metav1.AddToGroupVersion(s, kueue.GroupVersion)
	return s
}

// decoders are the one of here and the general one, as a REST client uses them.
func decoders(tb testing.TB) (ours, general runtime.Decoder) {
	tb.Helper()
	n := newNegotiated(scheme(tb))
	of := func(n runtime.NegotiatedSerializer) runtime.Decoder {
		info, ok := runtime.SerializerInfoForMediaType(n.SupportedMediaTypes(), runtime.ContentTypeJSON)
		if !ok {
			tb.Fatal("no JSON")
		}
		return n.DecoderToVersion(info.Serializer, kueue.GroupVersion)
	}
	return of(n), of(n.NegotiatedSerializer)
}

// random is the text of a Workload as the API server might have it.
func random(tb testing.TB, seed int64) []byte {
	tb.Helper()
	wl := &kueue.Workload{}
	randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 3).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) { q.Set(c.Int63n(1 << 40)) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<32), 0).UTC() },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) {
			f.SetRawString(`{"f:spec":{"f:active":{},"k:{\"type\":\"\\\\\"}":{}}}`)
		},
		func(s *corev1.PodSpec, c randfill.Continue) {
			c.Fill(&s.Containers)
			c.Fill(&s.Tolerations)
			c.Fill(&s.NodeSelector)
		},
	).Fill(wl)
	wl.APIVersion, wl.Kind = kueue.GroupVersion.String(), "Workload"
	text, err := json.Marshal(wl)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// alike decodes the text both ways, and fails if that makes a difference but for managed fields.
func alike(tb testing.TB, ours, general runtime.Decoder, text []byte) {
	tb.Helper()
	want, wantKind, wantErr := general.Decode(text, nil, nil)
	got, gotKind, gotErr := ours.Decode(text, nil, nil)
	if (wantErr != nil) != (gotErr != nil) {
		tb.Fatalf("error %v, want %v, of %s", gotErr, wantErr, text)
	}
	for _, o := range []runtime.Object{want, got} {
		if wl, ok := o.(*kueue.Workload); ok {
			wl.ManagedFields = nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || wantErr == nil && *wantKind != *gotKind {
		tb.Fatalf("%v and %v of %s, -want +got:\n%s", wantKind, gotKind, text, diff)
	}
}

func TestAWorkloadIsDecodedAsAnyClientDoes(t *testing.T) {
	ours, general := decoders(t)
	for seed := range int64(40) {
		text := random(t, seed)
		alike(t, ours, general, text)
		if _, ok := decodeWorkload(text); !ok {
			t.Fatalf("seed %d looks unusual", seed)
		}
	}
	if o, _, err := general.Decode([]byte(typical), nil, nil); err != nil || len(o.(*kueue.Workload).ManagedFields) == 0 {
		t.Errorf("the general decoder is not what it was: %v, %v", o, err)
	}
}

func TestWhatLooksUnusualIsDecodedAsAnyClientDoes(t *testing.T) {
	ours, general := decoders(t)
	const is = `"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload"`
	for _, text := range []string{
		`{` + is + `,"metadata":{"name":"a"}}`, `{` + is + `,"metadata":{}}`, `{` + is + `}`, `{` + is + `,"metadata":null}`,
		`{` + is + `,"metadata":{"name":"a"},"spec":null,"status":null}`, ` { ` + is + ` , "metadata" : { "name" : "a" , "labels":{"managedFields":"x"} } } ` + "\n",
		`{` + is + `,"metadata":{"name":"a"},"more":1}`, `{` + is + `,"metadata":{"name":"a"},"Spec":{"queueName":"q"}}`,
		`{` + is + `,"metadata":{"name":"a"},"spec":{"queueName":"q"},"spec":{"queueName":"r"}}`,
		`{` + is + `,"metadata":{"name":"a","name":"b"}}`, `{` + is + `,"metadata":{"n\u0061me":"a"}}`, `{` + is + `,"m\u0065tadata":{"name":"a"}}`,
		`{` + is + `,"metadata":{"name":"a"},"spec":{"queueName":1}}`, `{` + is + `,"metadata":{"name":1}}`, `{` + is + `,"metadata":{"name":"a"},"status":[]}`,
		`{` + is + `,"metadata":{"name":"a"},"spec":{"priority":1.5}}`, `{` + is + `,"metadata":{"name":"a"`, `{` + is + `,"metadata":{"name":"a"}}}`, ``, `null`, `[]`,
		`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":410}`,
		`{"apiVersion":"kueue.x-k8s.io/v1beta3","kind":"Workload","metadata":{}}`, `{"kind":"Workload","metadata":{}}`,
		`{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"},` + is + `,"spec":{"podSets":null}}`,
	} {
		alike(t, ours, general, []byte(text))
	}
}

func TestAnEventIsTakenApart(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"ADDED","object":{"a":"}"}}`:                 `ADDED {"a":"}"}`,
		` {"object" : {"a":1}, "type" : "BOOKMARK"} `:         `BOOKMARK {"a":1}`,
		`{"type":"ADDED"}`:                                    ``,
		`{"type":"","object":{}}`:                             ``,
		`{"type":1,"object":{}}`:                              ``,
		`{"type":"A\u0044DED","object":{}}`:                   ``,
		`{"type":"ADDED","object":{},"object":{}}`:            ``,
		`{"type":"ADDED","object":{},"more":1}`:               ``,
		`{"type":"ADDED","object":{}`:                         ``,
		`{"kind":"Status","apiVersion":"v1","message":"bad"}`: ``,
	} {
		event := &metav1.WatchEvent{}
		got := ""
		if readEvent([]byte(text), event) {
			got = event.Type + " " + string(event.Object.Raw)
		}
		if got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// frames reads all frames through a buffer of the given size.
func frames(r io.Reader, size int) ([]string, error) {
	reader := lines{}.NewFrameReader(io.NopCloser(r))
	var all []string
	frame := ""
	for buffer := make([]byte, size); ; {
		n, err := reader.Read(buffer)
		frame += string(buffer[:n])
		switch {
		case errors.Is(err, io.ErrShortBuffer):
		case err != nil:
			return all, err
		default:
			all, frame = append(all, strings.TrimSpace(frame)), ""
		}
	}
}

func TestFramesAreWholeTexts(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 40<<10) + `"}`
	want := []string{`{"a":1}`, `{}`, "{\n \"a\": [\n {}]\n}", long, `{"z":"\n"}`}
	stream := want[0] + "\n\n" + want[1] + "\r\n" + want[2] + "\n" + want[3] + "\n" + want[4]
	for _, size := range []int{3, 1024, 1 << 20} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
			got, err := frames(r, size)
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%s in buffers of %d ended with %v, -want +got:\n%s", name, size, err, diff)
			}
		}
	}
}

func TestAFrameThatIsCutOffOrNoObjectIsAnError(t *testing.T) {
	if got, err := frames(strings.NewReader("{}\n{\"a\":"), 1024); len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q and %v", got, err)
	}
	for _, text := range []string{"word", "1", `{"a":1}}`, `{"a":1}{"b":1}`, "[]", `"a"`, "{" + strings.Repeat("x", maxText) + "\n"} {
		if got, err := frames(strings.NewReader(text+"\n{}"), 1024); len(got) != 0 || !errors.Is(err, errNoText) {
			t.Errorf("of %.20s: got %q and %v", text, got, err)
		}
	}
	broken := errors.New("broken")
	if got, err := frames(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken)), 1024); len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("got %q and %v", got, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	ours, general := decoders(b)
	text := []byte(typical)
	for name, d := range map[string]runtime.Decoder{"general": general, "ours": ours} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := d.Decode(text, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// typical is an admitted Workload.
const typical = `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"creationTimestamp":"2026-11-21T20:00:00Z",` +
	`"generation":1,"managedFields":[{"apiVersion":"kueue.x-k8s.io/v1beta2","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:admission":` +
	`{"f:clusterQueue":{},"f:podSetAssignments":{"k:{\"name\":\"main\"}":{".":{},"f:count":{},"f:flavors":{"f:cpu":{}},"f:name":{},` +
	`"f:resourceUsage":{"f:cpu":{}}}}},"f:conditions":{"k:{\"type\":\"Admitted\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},` +
	`"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"QuotaReserved\"}":{".":{},"f:lastTransitionTime":{},` +
	`"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}}}},"manager":"kueue-admission","operation":"Apply",` +
	`"subresource":"status","time":"2026-11-21T20:00:01Z"},{"apiVersion":"kueue.x-k8s.io/v1beta2","fieldsType":"FieldsV1","fieldsV1":` +
	`{"f:spec":{".":{},"f:active":{},"f:podSets":{".":{},"k:{\"name\":\"main\"}":{".":{},"f:count":{},"f:name":{},"f:template":` +
	`{".":{},"f:spec":{".":{},"f:containers":{},"f:restartPolicy":{}}}}},"f:priority":{},"f:queueName":{}}},"manager":"bench","operation":"Update",` +
	`"time":"2026-11-21T20:00:00Z"}],"name":"team-small-17","namespace":"team","resourceVersion":"4711","uid":"5a1b5d8c-0000-4000-8000-000000000000"},` +
	`"spec":{"active":true,"podSets":[{"count":1,"name":"main","template":{"metadata":{},"spec":{"containers":[{"image":"registry.k8s.io/pause:3.10",` +
	`"name":"c","resources":{"requests":{"cpu":"1"}}}],"restartPolicy":"Never"}}}],"priority":50,"queueName":"team"},"status":{"admission":` +
	`{"clusterQueue":"cohort-0-queue-3","podSetAssignments":[{"count":1,"flavors":{"cpu":"default"},"name":"main","resourceUsage":{"cpu":"1"}}]},` +
	`"conditions":[{"lastTransitionTime":"2026-11-21T20:00:01Z","message":"Quota reserved in ClusterQueue cohort-0-queue-3","observedGeneration":1,` +
	`"reason":"QuotaReserved","status":"True","type":"QuotaReserved"},{"lastTransitionTime":"2026-11-21T20:00:01Z","message":"The workload is admitted",` +
	`"observedGeneration":1,"reason":"Admitted","status":"True","type":"Admitted"}]}}`
