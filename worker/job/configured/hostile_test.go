package configured_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/configured"
)

// compile returns the kind of the smallest declaration with changes.
func compile(tb testing.TB, change func(*switchyard.JobKindSpec)) job.Kind[*unstructured.Unstructured] {
	tb.Helper()
	spec := sound()
	change(spec)
	program, errs := configured.Compile(spec)
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return program.Kind()
}

// read is a job from YAML.
func read(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

const run = `
apiVersion: ml.example.com/v1
kind: TrainingRun
metadata: {name: a, namespace: team}
spec:
  suspend: true
  replicas: 3
  template:
    spec: {containers: [{name: main, image: a}]}
`

func nothing(*switchyard.JobKindSpec) {}

func TestWhatAJobMustNotBeIsAnErrorOfItsPodSets(t *testing.T) {
	huge := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		change    func(*switchyard.JobKindSpec)
		job, want string
	}{
		"no spec":             {nothing, "{apiVersion: ml.example.com/v1, kind: TrainingRun}", "spec.podSets[0].count of the JobKind: no such key: spec"},
		"a spec that is text": {nothing, "{apiVersion: a/v1, kind: A, spec: text}", "spec.podSets[0].count of the JobKind"},
		"no template":         {nothing, "{apiVersion: a/v1, kind: A, spec: {replicas: 1}}", "spec.template: Required value"},
		"a template that is a number": {nothing, "{apiVersion: a/v1, kind: A, spec: {replicas: 1, template: 7}}",
			"spec.template: Invalid value"},
		"a template without containers": {nothing, "{apiVersion: a/v1, kind: A, spec: {replicas: 1, template: {spec: {}}}}",
			"spec.template: Required value: the pod template has no containers"},
		"a quantity that is none": {nothing, "{apiVersion: a/v1, kind: A, spec: {replicas: 1, template: {spec: {containers: [{name: a, resources: {requests: {cpu: many}}}]}}}}",
			"spec.template: Invalid value"},
		"a selector that is a list": {nothing, "{apiVersion: a/v1, kind: A, spec: {replicas: 1, template: {spec: {nodeSelector: [], containers: [{name: a}]}}}}",
			"spec.template"},
		"a negative count":     {nothing, strings.ReplaceAll(run, "replicas: 3", "replicas: -1"), "spec.template: Invalid value: -1: must be 0 to"},
		"a count beyond all":   {nothing, strings.ReplaceAll(run, "replicas: 3", "replicas: 4294967297"), "must be 0 to"},
		"a count that is half": {nothing, strings.ReplaceAll(run, "replicas: 3", "replicas: 1.5"), "returned a number, and not a whole number"},
		"a count that is text": {nothing, strings.ReplaceAll(run, "replicas: 3", "replicas: three"), "returned a string, and not a whole number"},
		"an overflow":          {func(s *switchyard.JobKindSpec) { s.PodSets[0].Count = "object.spec.replicas * 9223372036854775807" }, run, "overflow"},
		"an endless search": {func(s *switchyard.JobKindSpec) {
			s.PodSets[0].Count = "lists.range(5000).map(x, lists.range(5000).map(y, x * y).size()).size()"
		}, run, "cost limit"},
		"a search in endless text": {func(s *switchyard.JobKindSpec) {
			s.PodSets[0].Count = "lists.range(500).filter(x, object.spec.name.matches('(a*)*b')).size()"
		}, run + "  name: " + huge, "cost limit"},
		"a list that doubles itself": {func(s *switchyard.JobKindSpec) {
			s.PodSets, s.PodSetsExpression = nil, `cel.bind(a, lists.range(100), cel.bind(b, lists.range(11).map(x, a),
				cel.bind(c, lists.range(11).map(x, b), cel.bind(d, lists.range(11).map(x, c), [{"name": "a", "count": 1, "template": {"x": d}}]))))`
		}, run, "returned too much"},
		"entries that are numbers": {func(s *switchyard.JobKindSpec) { s.PodSets, s.PodSetsExpression = nil, "[1]" }, run, "returned a number, and not a map as entry 0"},
		"entries that are too many": {func(s *switchyard.JobKindSpec) {
			s.PodSets, s.PodSetsExpression = nil, `lists.range(19).map(i, {"name": string(i)})`
		}, run,
			"a Workload has at most 18"},
		"an entry with a path into the status": {func(s *switchyard.JobKindSpec) {
			s.PodSets, s.PodSetsExpression = nil, `[{"name": "a", "count": 1, "path": "status.template"}]`
		}, run, "entry 0: path: the path must lead into the spec"},
		"an entry with a word that is unknown": {func(s *switchyard.JobKindSpec) {
			s.PodSets, s.PodSetsExpression = nil, `[{"name": "a", "count": 1, "pod": "spec.template"}]`
		}, run, `entry 0: "pod" is not one of`},
	} {
		t.Run(name, func(t *testing.T) {
			kind, j := compile(t, c.change), read(t, c.job)
			_, err := kind.PodSets(j)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWhatCannotBeReadOfAStatusIsNotSaidAndKeepsTheQuota(t *testing.T) {
	kind := compile(t, func(s *switchyard.JobKindSpec) {
		s.Progress = switchyard.JobKindProgress{
			Active: "object.status.active > 0", Terminating: "object.status.terminating > 0", Ready: "object.status.ready", Succeeded: "object.status.done",
			Failed: "object.status.failed", Message: "object.status.message", ReclaimablePods: "object.status.reclaimable",
		}
	})
	for name, c := range map[string]struct {
		status string
		want   job.Progress
	}{
		"none":                            {"", job.Progress{}},
		"an empty one":                    {"status: {}", job.Progress{}},
		"one without what is read":        {"status: {phase: Running}", job.Progress{Active: true}},
		"one of other types":              {"status: {active: [], terminating: 'yes', ready: 1, done: {}, failed: 0, message: [], reclaimable: 3}", job.Progress{Active: true}},
		"text":                            {"status: text", job.Progress{Active: true}},
		"one that ended without a reason": {"status: {active: 0, done: true}", job.Progress{Finished: &job.Outcome{Success: true}}},
		"one that ended both ways":        {"status: {active: 0, done: true, failed: true, message: it broke}", job.Progress{Finished: &job.Outcome{Message: "it broke"}}},
		"reclaimable pods of all sorts": {"status: {active: 0, reclaimable: [{name: b, count: 2}, {name: A, count: 5000000000}, {name: c, count: 0}, {name: d, count: -1}, {name: 1, count: 1}, {count: 1}, {}]}",
			job.Progress{Reclaimable: []kueue.ReclaimablePod{{Name: "a", Count: 2147483647}, {Name: "b", Count: 2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, kind.Progress(read(t, run+c.status))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	long := kind.Progress(read(t, run+"status: {done: true, message: "+strings.Repeat("x", 100_000)+"}"))
	if n := len(long.Finished.Message); n > 1024 {
		t.Errorf("a message of %d bytes is repeated", n)
	}
}

func TestARunThatCannotBeSuspendedAgainEndsWhenItIsStopped(t *testing.T) {
	kind := compile(t, func(s *switchyard.JobKindSpec) {
		s.Suspend = switchyard.JobKindSuspend{Path: "spec.status", Value: &apiextensionsv1.JSON{Raw: []byte(`"Pending"`)}}
		s.Stop = &switchyard.JobKindStop{Values: []apiextensionsv1.JSON{{Raw: []byte(`"Stopped"`)}, {Raw: []byte(`"Cancelled"`)}}}
		s.Progress.Failed = "object.?status.failed.orValue(false)"
	})
	j := read(t, run)
	kind.SetSuspend(j, true)
	if step := kind.Stop(j, nil); step != job.StopDone || !kind.Suspended(j) {
		t.Fatalf("one that has not started is stopped by %v", step)
	}
	kind.SetSuspend(j, false)
	if _, found, _ := unstructured.NestedString(j.Object, "spec", "status"); found || kind.Suspended(j) {
		t.Fatal("it has not started")
	}
	if step := kind.Stop(j, nil); step != job.StopSpec || !kind.Suspended(j) {
		t.Fatalf("one that runs is stopped by %v", step)
	}
	kind.SetSuspend(j, false)
	if !kind.Suspended(j) {
		t.Error("it runs again")
	}
	if !kind.Progress(j).Active {
		t.Error("it has given up its quota before its end was seen")
	}
	j.Object["status"] = map[string]any{"failed": true}
	if p := kind.Progress(j); p.Active || p.Finished == nil {
		t.Errorf("its end was not seen: %+v", p)
	}
	_ = unstructured.SetNestedField(j.Object, "Cancelled", "spec", "status")
	if step := kind.Stop(j, nil); step != job.StopDone {
		t.Errorf("one that its user cancelled is stopped by %v", step)
	}
}

func TestAnAdmissionThatAKindHasNoPlaceForIsRefused(t *testing.T) {
	withoutTemplate := func(p *switchyard.JobKindPlacement) func(*switchyard.JobKindSpec) {
		return func(s *switchyard.JobKindSpec) {
			s.PodSets[0] = switchyard.JobKindPodSet{Name: "main", TemplateExpression: `{"spec": {"containers": [{"name": "main"}]}}`, Placement: p}
		}
	}
	admitted := []job.Placement{{Labels: map[string]string{"a": "b"}, NodeSelector: map[string]string{"zone": "a"}}}
	var refused *configured.PlaceError
	if err := compile(t, withoutTemplate(nil)).Place(read(t, run), admitted); !errors.As(err, &refused) || refused.Part != switchyard.PlacementNodeSelector {
		t.Errorf("got %v", err)
	}
	j := read(t, run)
	discards := compile(t, withoutTemplate(&switchyard.JobKindPlacement{Discard: []switchyard.PlacementPart{switchyard.PlacementNodeSelector}}))
	if err := discards.Place(j, admitted); err != nil || cmp.Diff(read(t, run), j) != "" {
		t.Errorf("got %v, and %v", err, j)
	}
	elsewhere := compile(t, withoutTemplate(&switchyard.JobKindPlacement{NodeSelector: "spec.nodeSelector", Tolerations: "spec.tolerations"}))
	if err := elsewhere.Place(j, admitted); err != nil {
		t.Fatal(err)
	}
	sets, err := elsewhere.PodSets(j)
	if err != nil || sets[0].Template.Spec.NodeSelector["zone"] != "a" {
		t.Fatalf("pod sets do not show it: %v, %v", sets, err)
	}
	elsewhere.Restore(j, []kueue.PodSet{{Name: "main", Template: corev1.PodTemplateSpec{}}})
	if diff := cmp.Diff(read(t, run), j); diff != "" {
		t.Errorf("restored, it differs:\n%s", diff)
	}
}

func TestPodsOfAJobAreFoundByItsLabelsAndByNothingElse(t *testing.T) {
	for text, want := range map[switchyard.Expression]string{
		`{"run": object.metadata.name}`:       "a",
		`{"run": object.metadata.nickname}`:   "",
		`{"run": 1}`:                          "",
		`object.?metadata.labels.orValue({})`: "",
	} {
		kind := compile(t, func(s *switchyard.JobKindSpec) { s.PodLabels = text })
		labels := kind.PodLabels(read(t, run))
		if want != "" && labels["run"] != want {
			t.Errorf("%s finds pods by %v", text, labels)
		}
		valid := len(labels) > 0
		for _, value := range labels {
			valid = valid && len(validation.IsValidLabelValue(value)) == 0
		}
		if valid != (want != "") {
			t.Errorf("%s finds pods by %v", text, labels)
		}
	}
}
