package metrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/apis/config/features"
	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/view"
)

func testCustomLabels() []config.CustomLabel {
	return []config.CustomLabel{
		{Name: "team", SourceLabelKey: "team"},
		{Name: "cost", SourceAnnotationKey: "cost", SourceKind: config.SourceKindClusterQueue, TrackedValues: []string{"high"}},
		{Name: "door", SourceLabelKey: "count", SourceKind: config.SourceKindLocalQueue},
		{Name: "site", SourceLabelKey: "site", SourceKind: config.SourceKindCohort},
		{Name: "model", SourceLabelKey: "model", SourceKind: config.SourceKindWorkload, TrackedValues: []string{"small", "large"}},
	}
}

// newLabelledEnv is a scene with custom labels.
func newLabelledEnv(t *testing.T, labels ...config.CustomLabel) (*metricsEnv, prometheus.Gatherer) {
	t.Helper()
	s := newMetricsEnvWith(t, func(cfg *config.Configuration) {
		cfg.FeatureGates = map[string]bool{"CustomMetricLabels": true}
		cfg.Metrics.CustomLabels = labels
	})
	opts := Options{CustomLabels: labels}
	return s, WithCustomLabels(s.registry, s.view, s.metrics, opts)
}

// listCustomLabels lists what the custom labels of a metric say: a line for each series, with the values of those that are not custom first.
func listCustomLabels(t *testing.T, registry prometheus.Gatherer, name string) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var plain, own []string
			last := ""
			for _, l := range m.Label {
				if l.GetName() <= last {
					t.Errorf("%s: label %s after %s", name, l.GetName(), last)
				}
				last = l.GetName()
				if after, found := strings.CutPrefix(last, "custom_"); found {
					own = append(own, after+"="+l.GetValue())
				} else {
					plain = append(plain, l.GetValue())
				}
			}
			list = append(list, strings.Join(append([]string{strings.Join(plain, ",")}, own...), " "))
		}
	}
	return list
}

func withLabel(key, value string) workloadOption {
	return func(wl *kueue.Workload) { metav1.SetMetaDataLabel(&wl.ObjectMeta, key, value) }
}

func TestMetricsHaveTheCustomLabelsOfTheirKind(t *testing.T) {
	s, registry := newLabelledEnv(t, testCustomLabels()...)
	cq := testClusterQueue()
	cq.Spec.CohortName = "low"
	cq.Labels, cq.Annotations = map[string]string{"team": "blue"}, map[string]string{"cost": "low"}
	s.deliver(cq, &kueue.Cohort{
		ObjectMeta: metav1.ObjectMeta{Name: "low", Labels: map[string]string{"site": "east"}}, Spec: kueue.CohortSpec{ParentName: "top"},
	})
	s.metrics.CountPreempted("cq", admission.InClusterQueue)
	s.deliverVersions("done", withReservation("cq", 1), withAdmitted(10), withFinished(100))
	untracked := kueue.UntrackedMetricLabelValue
	for name, want := range map[string][]string{
		"kueue_reserving_active_workloads":             {"cq cost=" + untracked + " team=blue", "other cost=" + untracked + " team="},
		"kueue_cluster_queue_info":                     {"cq,low,top cost=" + untracked + " team=blue", "other,low,top cost=" + untracked + " team="},
		"kueue_preempted_workloads_total":              {"cq,InClusterQueue cost=" + untracked + " team=blue"},
		"kueue_finished_workloads_total":               {"cq,high cost=" + untracked + " team=blue"},
		"kueue_cluster_queue_weighted_share":           {"cq,low cost=" + untracked + " team=blue", "other,low cost=" + untracked + " team="},
		"kueue_local_queue_reserving_active_workloads": {"lq,ns door=me"},
		"kueue_local_queue_unadmitted_workloads": {
			"cq,lq,ns,NoReservation,PendingEvaluation door=me", "cq,lq,ns,NoReservation,WaitingForQuota door=me",
		},
		"kueue_cohort_info":              {"low,top,top site=east", "top,,top site="},
		"kueue_cohort_subtree_quota":     {"low,red,gpu site=east", "top,red,gpu site="},
		"kueue_admission_attempts_total": nil,
	} {
		if diff := cmp.Diff(want, listCustomLabels(t, registry, name)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestACustomLabelIsThatOfTheObjectAsItIsNow(t *testing.T) {
	s, registry := newLabelledEnv(t, config.CustomLabel{Name: "team", SourceLabelKey: "team"})
	s.deliverVersions("done", withReservation("cq", 1), withAdmitted(10), withFinished(100))
	for _, team := range []string{"blue", "red"} {
		cq := testClusterQueue()
		cq.Spec.CohortName, cq.Labels = "low", map[string]string{"team": team}
		s.deliver(cq)
		if diff := cmp.Diff([]string{"cq team=" + team, "other team="}, listCustomLabels(t, registry, "kueue_reserving_active_workloads")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got, want := len(listCustomLabels(t, registry, "kueue_finished_workloads_total")), map[string]int{"blue": 1, "red": 0}[team]; got != want {
			t.Errorf("%d series of what was counted, want %d: it begins anew with another label", got, want)
		}
	}
	s.deliverVersions("another", withReservation("cq", 1), withAdmitted(10), withFinished(100))
	if got := listCustomLabels(t, s.registry, "kueue_finished_workloads_total"); len(got) != 1 || strings.Contains(got[0], "team") {
		t.Errorf("what is shared by all readings was changed: %q", got)
	}
}

func TestWorkloadLabelsAreOnTheMetricsThatTheContractNames(t *testing.T) {
	s, registry := newLabelledEnv(t, config.CustomLabel{
		Name: "model", SourceLabelKey: "model", SourceKind: config.SourceKindWorkload, TrackedValues: []string{"small", "large"},
	})
	s.deliver(newWorkload("runs", 6, withReservation("cq", 6), withAdmitted(0), withLabel("model", "large")))
	s.deliver(newWorkload("new", 2, withLabel("model", "small")), newWorkload("newer", 2, withLabel("model", "tiny")))
	s.deliverVersions("done", withLabel("model", "small"), withReservation("cq", 1), withAdmitted(10), withFinished(100))
	s.runEmptyCycle(0)
	untracked := kueue.UntrackedMetricLabelValue
	for name, want := range map[string][]string{
		"kueue_pending_workloads":                              {"cq,active model=" + untracked, "cq,active model=small"},
		"kueue_admitted_active_workloads":                      {"cq model=large"},
		"kueue_local_queue_admitted_active_workloads":          {"lq,ns model=large"},
		"kueue_local_queue_admitted_workloads_total":           {"lq,ns,high model=small"},
		"kueue_local_queue_admission_wait_time_seconds":        {"lq,ns,high model=small"},
		"kueue_admitted_workloads_total":                       {"cq,high"},
		"kueue_admission_wait_time_seconds":                    {"cq,high"},
		"kueue_local_queue_pending_workloads":                  {"lq,ns,active", "lq,ns,inadmissible"},
		"kueue_local_queue_admission_checks_wait_time_seconds": {"lq,ns,high"},
		"kueue_reserving_active_workloads":                     {"cq", "other"},
	} {
		if diff := cmp.Diff(want, listCustomLabels(t, registry, name)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestALabelWithoutSourceIsReadFromTheKeyOfItsName(t *testing.T) {
	s, registry := newLabelledEnv(t, config.CustomLabel{Name: "team"})
	cq := testClusterQueue()
	cq.Spec.CohortName, cq.Labels = "low", map[string]string{"team": "blue"}
	s.deliver(cq)
	if diff := cmp.Diff([]string{"cq team=blue", "other team="}, listCustomLabels(t, registry, "kueue_reserving_active_workloads")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWorkloadLabelKeysAreThoseThatJobsPassOn(t *testing.T) {
	cfg := &config.Configuration{Metrics: config.Metrics{CustomLabels: append(testCustomLabels(),
		config.CustomLabel{Name: "tier", SourceKind: config.SourceKindWorkload},
		config.CustomLabel{Name: "cost", SourceAnnotationKey: "example.com/cost", SourceKind: config.SourceKindWorkload},
	)}}
	on, err := features.New(map[string]bool{"CustomMetricLabels": true})
	if err != nil {
		t.Fatal(err)
	}
	labels, annotations := WorkloadLabelKeys(cfg, on)
	if !slices.Equal(labels, []string{"model", "tier"}) || !slices.Equal(annotations, []string{"example.com/cost"}) {
		t.Errorf("labels %q and annotations %q", labels, annotations)
	}
	if labels, annotations := WorkloadLabelKeys(cfg, features.Set{}); len(labels)+len(annotations) > 0 {
		t.Errorf("with the gate off: labels %q and annotations %q", labels, annotations)
	}
}

func TestWithTheGateOffThereAreNoCustomLabels(t *testing.T) {
	opts, err := OptionsFor(&config.Configuration{Metrics: config.Metrics{CustomLabels: testCustomLabels()}}, view.New(view.Options{}))
	if err == nil && len(opts.CustomLabels) > 0 {
		t.Errorf("got %v", opts.CustomLabels)
	}
	registry := prometheus.NewRegistry()
	if got := WithCustomLabels(registry, nil, nil, Options{}); got != prometheus.Gatherer(registry) {
		t.Error("the registry is wrapped for nothing")
	}
}
