package appwrapper_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/appwrapper"
	"switchyard.dev/worker/job/jobtest"
)

func TestAppWrapperIsAConformingKind(t *testing.T) {
	jobtest.Verify(t, appwrapper.Kind(), appwrapper.Examples())
}

// wrap is an AppWrapper called aw of components in JSON.
func wrap(components ...string) *awv1.AppWrapper {
	aw := &awv1.AppWrapper{ObjectMeta: metav1.ObjectMeta{Name: "aw", Namespace: "team"}, Spec: awv1.AppWrapperSpec{Suspend: true}}
	for _, raw := range components {
		aw.Spec.Components = append(aw.Spec.Components, awv1.AppWrapperComponent{Template: runtime.RawExtension{Raw: []byte(raw)}})
	}
	return aw
}

// pod is a pod template, or a part of one with what is put in the place of %.
const pod = `{"spec":{"containers":[{"name":"c","image":"i:1"}]}}`

func object(apiVersion, kind, spec string) string {
	return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"inner"},"spec":` + strings.ReplaceAll(spec, "POD", pod) + `}`
}

func counts(t *testing.T, aw *awv1.AppWrapper) map[kueue.PodSetReference]int32 {
	t.Helper()
	sets, err := appwrapper.Kind().PodSets(aw)
	if err != nil {
		t.Fatal(err)
	}
	got := map[kueue.PodSetReference]int32{}
	for i := range sets {
		got[sets[i].Name] = sets[i].Count
	}
	return got
}

func TestThePodsOfKnownKindsAreCounted(t *testing.T) {
	type sets = map[kueue.PodSetReference]int32
	for name, row := range map[string]struct {
		component string
		want      sets
	}{
		"a Pod":            {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}`, sets{"aw-0": 1}},
		"a Job of one pod": {object("batch/v1", "Job", `{"template":POD}`), sets{"aw-0": 1}},
		"a Job with fewer completions than places": {object("batch/v1", "Job", `{"parallelism":5,"completions":2,"template":POD}`), sets{"aw-0": 2}},
		"a Deployment":                    {object("apps/v1", "Deployment", `{"replicas":4,"template":POD}`), sets{"aw-0": 4}},
		"a StatefulSet that does not say": {object("apps/v1", "StatefulSet", `{"replicas":null,"template":POD}`), sets{"aw-0": 1}},
		"a JobSet": {
			object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":[{"name":"a","template":{"spec":{"template":POD}}},{"name":"x"},
				{"name":"b","replicas":3,"template":{"spec":{"parallelism":4,"completions":2,"template":POD}}}]}`), sets{"aw-0": 1, "aw-1": 6},
		},
		"a PyTorchJob": {
			object("kubeflow.org/v1", "PyTorchJob", `{"pytorchReplicaSpecs":{"Worker":{"replicas":7,"template":POD},"Master":{"template":POD}}}`),
			sets{"aw-0": 1, "aw-1": 7},
		},
		"a RayCluster": {
			object("ray.io/v1", "RayCluster", `{"headGroupSpec":{"template":POD},"workerGroupSpecs":[{"replicas":2,"template":POD},{"replicas":9}]}`),
			sets{"aw-0": 1, "aw-1": 2},
		},
		"a RayJob": {
			object("ray.io/v1", "RayJob", `{"rayClusterSpec":{"headGroupSpec":{"template":POD},"workerGroupSpecs":[{"replicas":2,"template":POD}]}}`),
			sets{"aw-0": 1, "aw-1": 2},
		},
		"another version":       {object("ray.io/v1alpha1", "RayCluster", `{"headGroupSpec":{"template":POD}}`), sets{}},
		"a kind without pods":   {object("v1", "Service", `{}`), sets{}},
		"no replicated jobs":    {object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":null}`), sets{}},
		"something else inside": {object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":[null,3,[]]}`), sets{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, counts(t, wrap(row.component))); diff != "" {
				t.Errorf("pod sets differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAppWrapperThatCannotBeCountedIsRefused(t *testing.T) {
	jobSet := func(numbers string) string {
		return object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":[{`+numbers+`}]}`)
	}
	for name, row := range map[string]struct{ component, want string }{
		"no object":          {`7`, "spec.components[0].template: Invalid value: not an object"},
		"nothing":            {``, "spec.components[0].template"},
		"a Job without pods": {object("batch/v1", "Job", `null`), "template.spec.template is not a pod template"},
		"a negative number":  {object("batch/v1", "Job", `{"parallelism":-1,"template":POD}`), "must be a number of 0 to 2147483647"},
		"half a pod":         {object("batch/v1", "Job", `{"parallelism":1.5,"template":POD}`), "must be a number"},
		"a text":             {object("apps/v1", "Deployment", `{"replicas":"many","template":POD}`), "template.spec.replicas: must be a number"},
		"an unknown field":   {object("batch/v1", "Job", `{"template":{"spec":{"containers":[{"name":"c"}],"warp":9}}}`), "is not a pod template"},
		"a product that wraps to zero": {
			jobSet(`"replicas":65536,"template":{"spec":{"parallelism":65536,"template":POD}}`), "must be 0 to 2147483647 pods",
		},
		"a number that wraps to one": {jobSet(`"replicas":4294967297,"template":{"spec":{"template":POD}}`), "must be a number"},
		"too many groups": {
			object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":[`+strings.Repeat(`{},`, 18)+`{}]}`), "19 groups of pods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := appwrapper.Kind().PodSets(wrap(row.component)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}

// declared is a Job of four pods with declared pod sets.
func declared(sets ...awv1.AppWrapperPodSet) *awv1.AppWrapper {
	aw := wrap(object("batch/v1", "Job", `{"parallelism":4,"template":POD,"list":[{"template":POD}]}`))
	aw.Spec.Components[0].DeclaredPodSets = sets
	return aw
}

func TestWhatIsDeclaredCountsUnlessItIsLessThanWhatIsKnown(t *testing.T) {
	type sets = map[kueue.PodSetReference]int32
	for name, row := range map[string]struct {
		set  awv1.AppWrapperPodSet
		want sets
	}{
		"as many":               {awv1.AppWrapperPodSet{Path: "template.spec.template", Replicas: ptr.To[int32](4)}, sets{"aw-0": 4}},
		"more":                  {awv1.AppWrapperPodSet{Path: "template.spec.template", Replicas: ptr.To[int32](6)}, sets{"aw-0": 6}},
		"less":                  {awv1.AppWrapperPodSet{Path: "template.spec.template"}, sets{"aw-0": 4}},
		"another path":          {awv1.AppWrapperPodSet{Path: "template.spec.list[0].template"}, sets{"aw-0": 1}},
		"a path to nowhere":     {awv1.AppWrapperPodSet{Path: "template.spec.list[1].template"}, sets{}},
		"a negative index":      {awv1.AppWrapperPodSet{Path: "template.spec.list[-1].template"}, sets{}},
		"a path without end":    {awv1.AppWrapperPodSet{Path: "template.spec.list[0"}, sets{}},
		"a path of dots":        {awv1.AppWrapperPodSet{Path: "template...[].."}, sets{}},
		"a path to somewhere":   {awv1.AppWrapperPodSet{Path: "template.kind"}, sets{}},
		"a path from elsewhere": {awv1.AppWrapperPodSet{Path: "status"}, sets{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, counts(t, declared(row.set))); diff != "" {
				t.Errorf("pod sets differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatTheControllerHasRecordedCountsMoreThanWhatIsDeclared(t *testing.T) {
	aw := declared(awv1.AppWrapperPodSet{Path: "template.spec.list[0].template", Replicas: ptr.To[int32](9)})
	aw.Status.ComponentStatus = []awv1.AppWrapperComponentStatus{{PodSets: []awv1.AppWrapperPodSet{{Path: "template.spec.template", Replicas: ptr.To[int32](0)}}}}
	if diff := cmp.Diff(map[kueue.PodSetReference]int32{"aw-0": 4}, counts(t, aw)); diff != "" {
		t.Errorf("pod sets differ (-want +got):\n%s", diff)
	}
}

func TestAPathToNowhereKeepsTheAppWrapperFromStarting(t *testing.T) {
	aw := declared(awv1.AppWrapperPodSet{Path: "template.spec.template"}, awv1.AppWrapperPodSet{Path: "template.spec.nowhere"})
	err := appwrapper.Kind().Place(aw, []job.Placement{{Name: "aw-0"}})
	if want := "invalid podset infos: expecting 2 podset, got 1"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if aw.Spec.Components[0].PodSetInfos != nil {
		t.Error("something was placed")
	}
}

func TestAPlacementThatTheTemplateContradictsIsAConflict(t *testing.T) {
	aw := appwrapper.Examples().Job()
	err := appwrapper.Kind().Place(aw, []job.Placement{{}, {NodeSelector: map[string]string{"arch": "amd64"}}, {}})
	want := "invalid admission check PodSetUpdate: conflict for nodeSelector: conflict for key=arch, value1=arm64, value2=amd64"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if diff := cmp.Diff(appwrapper.Examples().Job(), aw); diff != "" {
		t.Errorf("the AppWrapper was changed (-want +got):\n%s", diff)
	}
}

func TestPlacementsStandBesideTheirComponents(t *testing.T) {
	aw := appwrapper.Examples().Job()
	zone := func(z string) job.Placement { return job.Placement{NodeSelector: map[string]string{"zone": z}} }
	if err := appwrapper.Kind().Place(aw, []job.Placement{zone("a"), zone("b"), zone("c")}); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, c := range aw.Spec.Components {
		var zones []string
		for _, info := range c.PodSetInfos {
			zones = append(zones, info.NodeSelector["zone"])
		}
		got = append(got, zones)
	}
	if diff := cmp.Diff([][]string{{"a"}, nil, {"b", "c"}}, got); diff != "" {
		t.Errorf("placements differ (-want +got):\n%s", diff)
	}
}

func TestTheWorkloadHasOnlyWhatDecidesAboutQuota(t *testing.T) {
	aw := wrap(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b","n":7}},"spec":{"terminationGracePeriodSeconds":5,"serviceAccountName":"me",
		"volumes":[{"name":"v"}],"containers":[{"name":"c","image":"i","env":[{"name":"E"}],"resources":{"requests":{"cpu":"1.0005"}}}]}}`)
	sets, err := appwrapper.Kind().PodSets(aw)
	if err != nil {
		t.Fatal(err)
	}
	spec := sets[0].Template.Spec
	c := spec.Containers[0]
	if len(spec.Volumes) > 0 || spec.ServiceAccountName != "" || len(c.Env) > 0 {
		t.Errorf("the template has more: %+v", spec)
	}
	if c.ImagePullPolicy != "Always" || c.Resources.Requests.Cpu().String() != "1001m" || ptr.Deref(spec.TerminationGracePeriodSeconds, 0) != 5 ||
		spec.RestartPolicy != "Always" {
		t.Errorf("defaults are missing: %+v", spec)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, sets[0].Template.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}

func TestFailedIsFinalOnceTheResourcesAreGone(t *testing.T) {
	aw := appwrapper.Examples().Job()
	aw.Status.Phase = awv1.AppWrapperFailed
	for _, kind := range []awv1.AppWrapperCondition{awv1.ResourcesDeployed, awv1.QuotaReserved} {
		meta.SetStatusCondition(&aw.Status.Conditions, metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue})
	}
	if p := appwrapper.Kind().Progress(aw); p.Finished != nil || !p.Active {
		t.Errorf("progress is %+v while resources are there", p)
	}
	meta.RemoveStatusCondition(&aw.Status.Conditions, string(awv1.ResourcesDeployed))
	if p := appwrapper.Kind().Progress(aw); p.Finished == nil || p.Finished.Message != "AppWrapper failed" {
		t.Errorf("progress is %+v", p)
	}
	aw.Status.Phase = awv1.AppWrapperSucceeded
	if p := appwrapper.Kind().Progress(aw); p.Finished == nil || !p.Finished.Success || p.Finished.Message != "AppWrapper finished successfully" {
		t.Errorf("progress is %+v", p)
	}
}

func TestTheControllerHasSeenWhatThePhaseAgreesWith(t *testing.T) {
	for phase, want := range map[awv1.AppWrapperPhase][2]bool{ // suspended, resumed
		awv1.AppWrapperEmpty: {true, true}, awv1.AppWrapperSuspended: {true, false}, awv1.AppWrapperRunning: {false, true},
		awv1.AppWrapperResetting: {false, true}, awv1.AppWrapperSuspending: {true, true}, awv1.AppWrapperFailed: {true, true},
	} {
		aw := wrap()
		aw.Status.Phase = phase
		suspended := appwrapper.Kind().ControllerObserved(aw)
		aw.Spec.Suspend = false
		if got := [2]bool{suspended, appwrapper.Kind().ControllerObserved(aw)}; got != want {
			t.Errorf("phase %q: %v, want %v", phase, got, want)
		}
	}
}

// FuzzAppWrappersOfEnemies looks for an AppWrapper that makes a function panic.
func FuzzAppWrappersOfEnemies(f *testing.F) {
	f.Add([]byte("seed"), object("jobset.x-k8s.io/v1alpha2", "JobSet", `{"replicatedJobs":[{"template":{"spec":{"template":POD}}}]}`), "template.spec.template")
	f.Add([]byte("grain"), object("ray.io/v1", "RayCluster", `{"headGroupSpec":null,"workerGroupSpecs":[null,{"template":7}]}`), "template[0]..x[")
	f.Add([]byte("corn"), `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"metadata":[],"spec":{"containers":null}}}}`, "template")
	f.Fuzz(func(t *testing.T, seed []byte, raw, path string) {
		kind := appwrapper.Kind()
		var aw, other awv1.AppWrapper
		filler := randfill.NewFromGoFuzz(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).
			Funcs(func(wrapped *runtime.RawExtension, _ randfill.Continue) { wrapped.Raw = []byte(raw) })
		filler.Fill(&aw)
		filler.Fill(&other)
		for i := range aw.Spec.Components {
			aw.Spec.Components[i].DeclaredPodSets = append(aw.Spec.Components[i].DeclaredPodSets, awv1.AppWrapperPodSet{Path: path})
		}
		sets, err := kind.PodSets(&aw)
		if err == nil {
			_ = kind.Place(&aw, make([]job.Placement, len(sets)))
		}
		for i := range sets {
			if sets[i].Count < 0 {
				t.Errorf("%d pods", sets[i].Count)
			}
			kind.Webhook.TemplatePath(&aw, i)
		}
		kind.Restore(&aw, sets)
		kind.Progress(&aw)
		kind.ControllerObserved(&aw)
		kind.LastControllerUpdate(&aw)
		kind.Children.Covers(&aw, &other)
		kind.CopyStatus(&aw, &other)
		kind.Strip(&aw)
	})
}
