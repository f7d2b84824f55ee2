package v1beta1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/kueue/v1beta2"
)

func TestTheListOfChecksWinsOverTheStrategyAndDoesNotComeBack(t *testing.T) {
	old := &ClusterQueue{Spec: ClusterQueueSpec{
		AdmissionChecks:         []AdmissionCheckReference{"a", "b", "a"},
		AdmissionChecksStrategy: &AdmissionChecksStrategy{AdmissionChecks: []AdmissionCheckStrategyRule{{Name: "c"}}},
	}}
	hub, back := &v1beta2.ClusterQueue{}, &ClusterQueue{}
	mustConvert(t, old.ConvertTo(hub), back.ConvertFrom(hub))
	want := &v1beta2.AdmissionChecksStrategy{AdmissionChecks: []v1beta2.AdmissionCheckStrategyRule{{Name: "a"}, {Name: "b"}}}
	if diff := cmp.Diff(want, hub.Spec.AdmissionChecksStrategy); diff != "" {
		t.Errorf("strategy (-want +got):\n%s", diff)
	}
	if back.Spec.AdmissionChecks != nil || len(back.Spec.AdmissionChecksStrategy.AdmissionChecks) != 2 {
		t.Errorf("came back as %+v", back.Spec)
	}
}

func TestOldNamesOfFungibilityBecomeMayStopSearch(t *testing.T) {
	old := &ClusterQueue{Spec: ClusterQueueSpec{FlavorFungibility: &FlavorFungibility{WhenCanBorrow: Borrow, WhenCanPreempt: Preempt}}}
	hub := &v1beta2.ClusterQueue{}
	mustConvert(t, old.ConvertTo(hub))
	want := &v1beta2.FlavorFungibility{WhenCanBorrow: v1beta2.MayStopSearch, WhenCanPreempt: v1beta2.MayStopSearch}
	if diff := cmp.Diff(want, hub.Spec.FlavorFungibility); diff != "" {
		t.Errorf("fungibility (-want +got):\n%s", diff)
	}
}

func TestTheSourceOfAClassBecomesItsGroupAndKind(t *testing.T) {
	for source, want := range map[string]*v1beta2.PriorityClassRef{
		"":                          nil,
		WorkloadPriorityClassSource: {Group: "kueue.x-k8s.io", Kind: "WorkloadPriorityClass", Name: "c"},
		PodPriorityClassSource:      {Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: "c"},
	} {
		hub := &v1beta2.Workload{}
		mustConvert(t, (&Workload{Spec: WorkloadSpec{PriorityClassName: "c", PriorityClassSource: source}}).ConvertTo(hub))
		if diff := cmp.Diff(want, hub.Spec.PriorityClassRef); diff != "" {
			t.Errorf("source %q (-want +got):\n%s", source, diff)
		}
	}
}

func TestRenamedFieldsKeepTheirValues(t *testing.T) {
	workload, queue, cluster := &v1beta2.Workload{}, &v1beta2.LocalQueue{}, &v1beta2.ClusterQueue{}
	mustConvert(t,
		(&Workload{Status: WorkloadStatus{AccumulatedPastExexcutionTimeSeconds: ptr.To[int32](7)}}).ConvertTo(workload),
		(&LocalQueue{Status: LocalQueueStatus{FlavorUsage: []v1beta2.LocalQueueFlavorUsage{{Name: "f"}}}}).ConvertTo(queue),
		(&ClusterQueue{Spec: ClusterQueueSpec{Cohort: "c"}}).ConvertTo(cluster),
	)
	if got := workload.Status.AccumulatedPastExecutionTimeSeconds; got == nil || *got != 7 {
		t.Errorf("accumulatedPastExecutionTimeSeconds is %v", got)
	}
	if got := queue.Status.FlavorsUsage; len(got) != 1 || got[0].Name != "f" {
		t.Errorf("flavorsUsage is %v", got)
	}
	if cluster.Spec.CohortName != "c" {
		t.Errorf("cohortName is %q", cluster.Spec.CohortName)
	}
}

func TestAClusterHasOneSourceOfCredentials(t *testing.T) {
	secret := KubeConfig{Location: "s", LocationType: v1beta2.SecretLocationType}
	profile := &v1beta2.ClusterProfileReference{Name: "p"}
	for name, c := range map[string]struct {
		spec MultiKueueClusterSpec
		want v1beta2.ClusterSource
	}{
		"a kubeconfig":                           {MultiKueueClusterSpec{KubeConfig: secret}, v1beta2.ClusterSource{KubeConfig: &v1beta2.KubeConfig{Location: "s", LocationType: "Secret"}}},
		"a profile and the kubeconfig required":  {MultiKueueClusterSpec{ClusterProfileRef: profile}, v1beta2.ClusterSource{ClusterProfileRef: profile}},
		"a profile wins over a meant kubeconfig": {MultiKueueClusterSpec{KubeConfig: secret, ClusterProfileRef: profile}, v1beta2.ClusterSource{ClusterProfileRef: profile}},
	} {
		hub := &v1beta2.MultiKueueCluster{}
		mustConvert(t, (&MultiKueueCluster{Spec: c.spec}).ConvertTo(hub))
		if diff := cmp.Diff(c.want, hub.Spec.ClusterSource); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func mustConvert(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatThisVersionHasNoWordForStandsInAnAnnotation(t *testing.T) {
	hub := &v1beta2.Workload{}
	hub.Annotations = map[string]string{"note": "kept"}
	hub.Spec.PreemptionGates = []v1beta2.PreemptionGate{{Name: "example.com/gate"}}
	spoke := &Workload{}
	if err := spoke.ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"note": "kept", BeyondAnnotation: `{"preemptionGates":[{"name":"example.com/gate"}]}`}
	if diff := cmp.Diff(want, spoke.Annotations); diff != "" {
		t.Errorf("read annotations (-want +got):\n%s", diff)
	}
	if _, shared := hub.Annotations[BeyondAnnotation]; shared {
		t.Error("the object of the other version was changed")
	}
	for name, c := range map[string]struct {
		annotation string
		gates      int
	}{
		"written back":         {spoke.Annotations[BeyondAnnotation], 1},
		"made up by somebody":  {`{"preemptionGates":[{"name":"a"},{"name":"b"}]}`, 2},
		"not to be understood": {`{"preemptionGates":`, 0},
	} {
		written := spoke.DeepCopy()
		written.Annotations[BeyondAnnotation] = c.annotation
		got := &v1beta2.Workload{}
		if err := written.ConvertTo(got); err != nil {
			t.Fatal(err)
		}
		if _, left := got.Annotations[BeyondAnnotation]; left || len(got.Spec.PreemptionGates) != c.gates || got.Annotations["note"] != "kept" {
			t.Errorf("%s: gates %v, annotations %v", name, got.Spec.PreemptionGates, got.Annotations)
		}
	}
	plain := &Workload{}
	if err := plain.ConvertFrom(&v1beta2.Workload{ObjectMeta: spoke.ObjectMeta}); err != nil || plain.Annotations[BeyondAnnotation] != "" {
		t.Errorf("annotations %v, error %v, of a workload that has nothing beyond", plain.Annotations, err)
	}
}
