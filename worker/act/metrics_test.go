package act

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/usage"
	"switchyard.dev/worker/view"
)

// elsewhere are the metrics of the contract that are not registered here, and why.
var elsewhere = map[string]string{
	"kueue_build_info":                          "worker/program",
	"multikueue_workloads_admitted_total":       "admissioncheck/multikueue/controller",
	"multikueue_workloads_dispatched_total":     "admissioncheck/multikueue/controller",
	"kueue_pod_scheduling_gate_removal_seconds": "comes with the first integration that gates pods",
	"kueue_replaced_workload_slices_total":      "comes with elastic workloads",
}

// contractMetric is a row of the table of metrics.
type contractMetric struct {
	Name, Type, Labels, Buckets string
}

func contractMetrics(t *testing.T) []contractMetric {
	t.Helper()
	data, err := os.ReadFile("testdata/metrics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []contractMetric
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 5 {
			rows = append(rows, contractMetric{Name: f[1], Type: f[2], Labels: f[3], Buckets: bucketsOf(t, f[4])})
		}
	}
	return rows
}

// bucketsOf spells out what the table calls buckets.
func bucketsOf(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "-":
		return ""
	case "client defaults":
		return spell(prometheus.DefBuckets)
	case "0.01·2^n ×11":
		return spell(prometheus.ExponentialBuckets(0.01, 2, 11))
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "exp"))
	if err != nil {
		t.Fatalf("no buckets are called %q", name)
	}
	bounds := []float64{1}
	for i := range n {
		bounds = append(bounds, 2.5*math.Pow(2, float64(i)))
	}
	return spell(bounds)
}

func spell(bounds []float64) string {
	var words []string
	for _, b := range bounds {
		words = append(words, strconv.FormatFloat(b, 'g', 6, 64))
	}
	return strings.Join(words, " ")
}

// gathered says of every metric what the contract says of it.
func gathered(t *testing.T, registry prometheus.Gatherer) []contractMetric {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var rows []contractMetric
	for _, f := range families {
		row := contractMetric{Name: f.GetName(), Type: strings.ToLower(f.GetType().String())}
		m := f.Metric[0]
		var labels []string
		for _, l := range m.Label {
			labels = append(labels, l.GetName())
		}
		row.Labels = strings.Join(labels, ",")
		if f.GetType() == dto.MetricType_HISTOGRAM {
			var bounds []float64
			for _, b := range m.Histogram.Bucket {
				bounds = append(bounds, b.GetUpperBound())
			}
			row.Buckets = spell(bounds)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTheMetricsAreThoseOfTheContract(t *testing.T) {
	s := newScene(t)
	s.touchAll()
	var want []contractMetric
	for _, row := range contractMetrics(t) {
		if elsewhere[row.Name] == "" {
			want = append(want, row)
		}
	}
	slices.SortFunc(want, func(a, b contractMetric) int { return strings.Compare(a.Name, b.Name) })
	if len(want) < 50 {
		t.Fatalf("the table has %d metrics", len(want))
	}
	if diff := cmp.Diff(want, gathered(t, s.registry)); diff != "" {
		t.Errorf("the contract (-) and the registry (+) differ:\n%s", diff)
	}
}

// scene has everything that metrics can be about: two queues in a tree of cohorts, fair sharing of both kinds, and a workload
// in every state.
type scene struct {
	*testing.T
	registry  *prometheus.Registry
	metrics   *Metrics
	view      *view.View
	informers *informertest.FakeInformers
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneWith(t, func(*config.Configuration) {})
}

func newSceneWith(t *testing.T, configure func(*config.Configuration)) *scene {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &scene{
		T: t, registry: prometheus.NewRegistry(), informers: &informertest.FakeInformers{Scheme: scheme},
		view: view.New(view.Options{Usage: &usage.Options{Interval: time.Minute}}),
	}
	if err := s.view.Register(t.Context(), s.informers); err != nil {
		t.Fatal(err)
	}
	cfg := &config.Configuration{FairSharing: &config.FairSharing{}}
	cfg.Metrics.EnableClusterQueueResources = true
	cfg.Metrics.LocalQueueMetrics = &config.LocalQueueMetrics{LocalQueueSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"count": "me"}}}
	configure(cfg)
	opts, err := MetricsOptionsFor(cfg, s.view)
	if err != nil {
		t.Fatal(err)
	}
	if s.metrics, err = NewMetrics(s.registry, opts); err != nil {
		t.Fatal(err)
	}
	if err := RegisterQueueGauges(s.registry, s.view, opts); err != nil {
		t.Fatal(err)
	}
	s.view.OnChange(s.metrics.Changed)
	s.furnish()
	return s
}

func (s *scene) furnish() {
	s.Helper()
	cq, other := clusterQueue(), clusterQueue()
	cq.Spec.CohortName, other.Spec.CohortName = "low", "low"
	cq.Spec.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
	other.Name = "other"
	lq := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq", Labels: map[string]string{"count": "me"}}}
	lq.Spec.ClusterQueue = "cq"
	quiet := lq.DeepCopy()
	quiet.Name, quiet.Labels = "quiet", nil
	s.deliver(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}},
		&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Spec: kueue.CohortSpec{ParentName: "top"}}, cq, other, lq, quiet)
	s.deliver(workloadOf("runs", 6, holds("cq", 6), admitted(0)), workloadOf("ended", 1, holds("cq", 1), admitted(0), finished(60)),
		workloadOf("new", 2), workloadOf("waits", 3, says(kueue.WorkloadQuotaReserved, "False", "WaitingForQuota", 1)))
	s.idle(0)
}

// idle lets the view know the time, as a cycle does that finds nothing to do.
func (s *scene) idle(seconds int) {
	s.view.Cycle(epoch.Add(time.Duration(seconds)*time.Second), func(*admission.Snapshot) admission.Plan { return admission.Plan{} })
}

func (s *scene) deliver(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		informer, err := s.informers.FakeInformerFor(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		informer.Add(o)
	}
}

var labelNames = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)

// touchAll gives every vector a series, so that it shows.
func (s *scene) touchAll() {
	labels := func(c prometheus.Collector) []string {
		descs := make(chan *prometheus.Desc, 1)
		c.Describe(descs)
		return make([]string, len(strings.Split(labelNames.FindStringSubmatch((<-descs).String())[1], ",")))
	}
	m := s.metrics
	counters := []**prometheus.CounterVec{&m.attempts, &m.preempted, &m.recomputed, &m.admittedInCohort}
	histograms := []**prometheus.HistogramVec{&m.attemptDuration, &m.creation}
	for _, f := range []*families{&m.cluster, &m.local} {
		counters, histograms = append(counters, f.counters()...), append(histograms, f.histograms()...)
	}
	for _, c := range counters {
		if *c != nil {
			(*c).WithLabelValues(labels(*c)...).Inc()
		}
	}
	for _, h := range histograms {
		if *h != nil {
			(*h).WithLabelValues(labels(*h)...).Observe(1)
		}
	}
	m.skipped.WithLabelValues("").Set(1)
}

// series lists the series of the named metric as labels and value, in the order of the registry.
func (s *scene) series(name string) []string {
	s.Helper()
	all, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	var list []string
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var words []string
			for _, l := range m.Label {
				words = append(words, l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			text := strconv.FormatFloat(value, 'g', 6, 64)
			if h := m.GetHistogram(); h != nil {
				text = strconv.FormatUint(h.GetSampleCount(), 10) + "x" + strconv.FormatFloat(h.GetSampleSum(), 'g', 6, 64) + "s"
			}
			list = append(list, strings.TrimSpace(strings.Join(words, ",")+" "+text))
		}
	}
	return list
}

func (s *scene) expect(name string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.series(name)); diff != "" {
		s.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// trait is something about a workload.
type trait func(*kueue.Workload)

// workloadOf asks for gpus through lq. Later versions of one workload have more traits, which makes their resourceVersion.
func workloadOf(name string, gpus int32, traits ...trait) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: "u", CreationTimestamp: metav1.NewTime(epoch.Add(-time.Minute)), ResourceVersion: strconv.Itoa(len(traits) + 1),
	}}
	wl.Spec.QueueName = "lq"
	wl.Spec.PriorityClassRef = &kueue.PriorityClassRef{Name: "high"}
	one := corev1.ResourceList{"gpu": resource.MustParse("1")}
	wl.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: gpus, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: one}}},
	}}}}
	for _, change := range traits {
		change(wl)
	}
	return wl
}

func says(condition, status, reason string, seconds int) trait {
	return func(wl *kueue.Workload) {
		kept := slices.DeleteFunc(wl.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition })
		wl.Status.Conditions = append(kept, metav1.Condition{
			Type: condition, Status: metav1.ConditionStatus(status), Reason: reason,
			LastTransitionTime: metav1.NewTime(epoch.Add(time.Duration(seconds) * time.Second)),
		})
	}
}

func holds(queue string, gpus int64) trait {
	return func(wl *kueue.Workload) {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue), PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "main", Count: ptr.To(int32(gpus)), ResourceUsage: corev1.ResourceList{"gpu": *resource.NewQuantity(gpus, resource.DecimalSI)},
			Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": "red"},
		}}}
		says(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", 0)(wl)
	}
}

func admitted(seconds int) trait { return says(kueue.WorkloadAdmitted, "True", "Admitted", seconds) }

func finished(seconds int) trait { return says(kueue.WorkloadFinished, "True", "Succeeded", seconds) }

func released(seconds int) trait {
	return func(wl *kueue.Workload) {
		wl.Status.Admission = nil
		says(kueue.WorkloadQuotaReserved, "False", "PendingEvaluation", seconds)(wl)
		says(kueue.WorkloadAdmitted, "False", "NoReservation", seconds)(wl)
		says(kueue.WorkloadPodsReady, "False", "WaitForStart", seconds)(wl)
	}
}

// evicted counts the eviction, as its writer does.
func evicted(reason, cause string, seconds int) trait {
	return func(wl *kueue.Workload) {
		if wl.Status.SchedulingStats == nil {
			wl.Status.SchedulingStats = &kueue.SchedulingStats{}
		}
		says(kueue.WorkloadEvicted, "True", reason+cause, seconds)(wl)
		stats := wl.Status.SchedulingStats
		for i := range stats.Evictions {
			if stats.Evictions[i].Reason == reason && stats.Evictions[i].UnderlyingCause == strings.TrimPrefix(cause, "DueTo") {
				stats.Evictions[i].Count++
				return
			}
		}
		stats.Evictions = append(stats.Evictions, kueue.WorkloadSchedulingStatsEviction{
			Reason: reason, UnderlyingCause: strings.TrimPrefix(cause, "DueTo"), Count: 1,
		})
	}
}
