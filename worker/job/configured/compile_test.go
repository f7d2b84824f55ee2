package configured_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job/configured"
)

// sound is the smallest declaration that is one.
func sound() *switchyard.JobKindSpec {
	return &switchyard.JobKindSpec{
		Group: "ml.example.com", Version: "v1", Kind: "TrainingRun",
		PodSets:  []switchyard.JobKindPodSet{{Name: "main", Count: "object.spec.replicas", Template: "spec.template"}},
		Progress: switchyard.JobKindProgress{Active: "object.?status.active.orValue(0) > 0"},
	}
}

func TestTheSmallestDeclarationIsSound(t *testing.T) {
	program, errs := configured.Compile(sound())
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if got := program.GVK().String(); got != "ml.example.com/v1, Kind=TrainingRun" {
		t.Error(got)
	}
	kind := program.Kind()
	j := kind.New()
	kind.SetSuspend(j, true)
	if !kind.Suspended(j) || j.Object["spec"].(map[string]any)["suspend"] != true || kind.ManagedBy != nil {
		t.Errorf("without further words it is not suspended by spec.suspend: %v", j.Object)
	}
}

func TestAMistakeInADeclarationIsToldWithItsFieldAndPlace(t *testing.T) {
	value := func(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
	for name, c := range map[string]struct {
		change func(*switchyard.JobKindSpec)
		want   string
	}{
		"an unknown variable": {func(s *switchyard.JobKindSpec) { s.PodSets[0].Count = "1 + job.spec.replicas" },
			"spec.podSets[0].count: Invalid value: 1:5: undeclared reference to 'job'"},
		"an unknown variable in a later line": {func(s *switchyard.JobKindSpec) { s.Progress.Active = "true &&\n  self.x" },
			"spec.progress.active: Invalid value: 2:3: undeclared reference to 'self'"},
		"an expression that ends too early": {func(s *switchyard.JobKindSpec) { s.Progress.Active = "object.status.active >" },
			"spec.progress.active: Invalid value: 1:23: Syntax error"},
		"parentheses that close what is not theirs": {func(s *switchyard.JobKindSpec) { s.Progress.Active = "true) || (true" },
			"spec.progress.active: Invalid value: 1:5: Syntax error"},
		"a wrong type":                      {func(s *switchyard.JobKindSpec) { s.PodSets[0].Count = `"three"` }, "spec.podSets[0].count: Invalid value: 1:1: the expression returns string, and not int"},
		"a list that is none":               {func(s *switchyard.JobKindSpec) { s.PodSets, s.PodSetsExpression = nil, "1" }, "spec.podSetsExpression: Invalid value: 1:1: the expression returns int, and not list"},
		"a regular expression that is none": {func(s *switchyard.JobKindSpec) { s.Progress.Ready = "object.x.matches('(')" }, "spec.progress.ready: Invalid value: 1:"},
		"an expression without end":         {func(s *switchyard.JobKindSpec) { s.Progress.Ready = switchyard.Expression(strings.Repeat("!", 20_000)) }, "spec.progress.ready: Too long"},
		"an expression that is too deep": {func(s *switchyard.JobKindSpec) {
			s.Progress.Ready = switchyard.Expression(strings.Repeat("(", 4000) + "true" + strings.Repeat(")", 4000))
		}, "spec.progress.ready"},
		"no pod sets":                  {func(s *switchyard.JobKindSpec) { s.PodSets = nil }, "spec.podSets: Required value"},
		"pod sets twice":               {func(s *switchyard.JobKindSpec) { s.PodSetsExpression = "[]" }, "spec.podSets: Required value: one of podSets and podSetsExpression"},
		"two pod sets of a name":       {func(s *switchyard.JobKindSpec) { s.PodSets = append(s.PodSets, s.PodSets[0]) }, `spec.podSets[1].name: Duplicate value: "main"`},
		"a pod set without a template": {func(s *switchyard.JobKindSpec) { s.PodSets[0].Template = "" }, "spec.podSets[0].template: Required value"},
		"a path that is none":          {func(s *switchyard.JobKindSpec) { s.PodSets[0].Template = "spec..template" }, `spec.podSets[0].template: Invalid value: "spec..template": 1:5:`},
		"a path into the status":       {func(s *switchyard.JobKindSpec) { s.PodSets[0].Template = "status.template" }, "must lead into the spec"},
		"a path that is the spec":      {func(s *switchyard.JobKindSpec) { s.Suspend.Path = "spec" }, "spec.suspend.path: Invalid value"},
		"a path to the job's name":     {func(s *switchyard.JobKindSpec) { s.Suspend.Path = "metadata.name" }, "spec.suspend.path: Invalid value"},
		"a path to its finalizers":     {func(s *switchyard.JobKindSpec) { s.Suspend.Path = "metadata.finalizers[0]" }, "spec.suspend.path: Invalid value"},
		"a suspension that is a list":  {func(s *switchyard.JobKindSpec) { s.Suspend.Value = value(`[1]`) }, "spec.suspend.value: Invalid value"},
		"a suspension that is no JSON": {func(s *switchyard.JobKindSpec) { s.Suspend.Value = value(`{`) }, "spec.suspend.value: Invalid value"},
		"a suspension that resumes":    {func(s *switchyard.JobKindSpec) { s.Suspend.ResumedValue = value(`true`) }, "spec.suspend.resumedValue: Invalid value"},
		"a stop that suspends": {func(s *switchyard.JobKindSpec) {
			s.Stop = &switchyard.JobKindStop{Values: []apiextensionsv1.JSON{*value("true")}}
		}, "spec.stop.values[0]: Invalid value"},
		"a stop without values":  {func(s *switchyard.JobKindSpec) { s.Stop = &switchyard.JobKindStop{} }, "spec.stop.values: Required value"},
		"nothing about activity": {func(s *switchyard.JobKindSpec) { s.Progress.Active = "" }, "spec.progress.active: Required value"},
		"a status that is none": {func(s *switchyard.JobKindSpec) {
			s.Dispatch = &switchyard.JobKindDispatch{StatusPaths: []switchyard.FieldPath{"spec.x"}}
		}, "spec.dispatch.statusPaths[0]: Invalid value"},
		"no group":        {func(s *switchyard.JobKindSpec) { s.Group = "" }, "spec.group: Invalid value"},
		"a kind in lower": {func(s *switchyard.JobKindSpec) { s.Kind = "job" }, "spec.kind: Invalid value"},
		"a discarded part that is none": {func(s *switchyard.JobKindSpec) {
			s.PodSets[0].Placement = &switchyard.JobKindPlacement{Discard: []switchyard.PlacementPart{"Affinity"}}
		}, "spec.podSets[0].placement.discard[0]: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := sound()
			c.change(spec)
			program, errs := configured.Compile(spec)
			if program != nil || len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), c.want) {
				t.Errorf("got %v\nwant %s", errs, c.want)
			}
		})
	}
}
