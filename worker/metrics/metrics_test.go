package metrics

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

var baseTime = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// testClusterQueue has 4 gpus.
func testClusterQueue() *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: "cq"},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{"gpu"},
				Flavors: []kueue.FlavorQuotas{{Name: "red", Resources: []kueue.ResourceQuota{
					{Name: "gpu", NominalQuota: resource.MustParse("4")},
				}}},
			}},
		},
	}
}

// registeredElsewhere are the metrics of the contract that are not registered here, and why.
var registeredElsewhere = map[string]string{
	"kueue_build_info":                      "worker/manager",
	"multikueue_workloads_admitted_total":   "admissioncheck/multikueue/controller",
	"multikueue_workloads_dispatched_total": "admissioncheck/multikueue/controller",
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
			rows = append(rows, contractMetric{Name: f[1], Type: f[2], Labels: f[3], Buckets: parseBuckets(t, f[4])})
		}
	}
	return rows
}

// parseBuckets spells out what the table calls buckets.
func parseBuckets(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "-":
		return ""
	case "client defaults":
		return formatBuckets(prometheus.DefBuckets)
	case "0.01·2^n ×11":
		return formatBuckets(prometheus.ExponentialBuckets(0.01, 2, 11))
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "exp"))
	if err != nil {
		t.Fatalf("no buckets are called %q", name)
	}
	bounds := []float64{1}
	for i := range n {
		bounds = append(bounds, 2.5*math.Pow(2, float64(i)))
	}
	return formatBuckets(bounds)
}

func formatBuckets(bounds []float64) string {
	var words []string
	for _, b := range bounds {
		words = append(words, strconv.FormatFloat(b, 'g', 6, 64))
	}
	return strings.Join(words, " ")
}

// gatherMetrics says of every metric what the contract says of it.
func gatherMetrics(t *testing.T, registry prometheus.Gatherer) []contractMetric {
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
			row.Buckets = formatBuckets(bounds)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTheMetricsAreThoseOfTheContract(t *testing.T) {
	s := newMetricsEnv(t)
	s.initAllSeries()
	var want []contractMetric
	for _, row := range contractMetrics(t) {
		if registeredElsewhere[row.Name] == "" {
			want = append(want, row)
		}
	}
	slices.SortFunc(want, func(a, b contractMetric) int { return strings.Compare(a.Name, b.Name) })
	if len(want) < 50 {
		t.Fatalf("the table has %d metrics", len(want))
	}
	if diff := cmp.Diff(want, gatherMetrics(t, s.registry)); diff != "" {
		t.Errorf("the contract (-) and the registry (+) differ:\n%s", diff)
	}
}

// metricsEnv has everything that metrics can be about: two queues in a tree of cohorts, fair sharing of both kinds, and a workload
// in every state.
type metricsEnv struct {
	*testing.T
	registry  *prometheus.Registry
	metrics   *Metrics
	view      *view.View
	informers *informertest.FakeInformers
}

func newMetricsEnv(t *testing.T) *metricsEnv {
	t.Helper()
	return newMetricsEnvWith(t, func(*config.Configuration) {})
}

func newMetricsEnvWith(t *testing.T, configure func(*config.Configuration)) *metricsEnv {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &metricsEnv{
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
	opts, err := OptionsFor(cfg, s.view)
	if err != nil {
		t.Fatal(err)
	}
	if s.metrics, err = New(s.registry, opts); err != nil {
		t.Fatal(err)
	}
	if err := RegisterQueueGauges(s.registry, s.view, opts); err != nil {
		t.Fatal(err)
	}
	s.view.OnConditionChange(s.metrics.ObserveChange)
	s.populate()
	return s
}

func (s *metricsEnv) populate() {
	s.Helper()
	cq, other := testClusterQueue(), testClusterQueue()
	cq.Spec.CohortName, other.Spec.CohortName = "low", "low"
	cq.Spec.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
	other.Name = "other"
	lq := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lq", Labels: map[string]string{"count": "me"}}}
	lq.Spec.ClusterQueue = "cq"
	quiet := lq.DeepCopy()
	quiet.Name, quiet.Labels = "quiet", nil
	s.deliver(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "red"}},
		&kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Spec: kueue.CohortSpec{ParentName: "top"}}, cq, other, lq, quiet)
	s.deliver(newWorkload("runs", 6, withReservation("cq", 6), withAdmitted(0)), newWorkload("ended", 1, withReservation("cq", 1), withAdmitted(0), withFinished(60)),
		newWorkload("new", 2), newWorkload("waits", 3, withCondition(kueue.WorkloadQuotaReserved, "False", "WaitingForQuota", 1)))
	s.runEmptyCycle(0)
}

// runEmptyCycle lets the view know the time, as a cycle does that finds nothing to do.
func (s *metricsEnv) runEmptyCycle(seconds int) {
	s.view.RunCycle(baseTime.Add(time.Duration(seconds)*time.Second), func(*admission.Snapshot) admission.Plan { return admission.Plan{} })
}

func (s *metricsEnv) deliver(objects ...client.Object) {
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

// initAllSeries gives every vector a series, so that it shows.
func (s *metricsEnv) initAllSeries() {
	labels := func(c prometheus.Collector) []string {
		descs := make(chan *prometheus.Desc, 1)
		c.Describe(descs)
		return make([]string, len(strings.Split(labelNames.FindStringSubmatch((<-descs).String())[1], ",")))
	}
	m := s.metrics
	counters := []**prometheus.CounterVec{&m.attempts, &m.preempted, &m.replaced, &m.recomputed, &m.admittedInCohort}
	histograms := []**prometheus.HistogramVec{&m.attemptDuration, &m.creationLatency, &m.gateRemoval}
	for _, f := range []*queueMetrics{&m.clusterQueues, &m.localQueues} {
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

// listSeries lists the series of the named metric as labels and value, in the order of the registry.
func (s *metricsEnv) listSeries(name string) []string {
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

func (s *metricsEnv) expectSeries(name string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.listSeries(name)); diff != "" {
		s.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// workloadOption is something about a workload.
type workloadOption func(*kueue.Workload)

// newWorkload asks for gpus through lq. Later versions of one workload have more traits, which makes their resourceVersion.
func newWorkload(name string, gpus int32, traits ...workloadOption) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: "u", CreationTimestamp: metav1.NewTime(baseTime.Add(-time.Minute)), ResourceVersion: strconv.Itoa(len(traits) + 1),
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

func withCondition(condition, status, reason string, seconds int) workloadOption {
	return func(wl *kueue.Workload) {
		kept := slices.DeleteFunc(wl.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition })
		wl.Status.Conditions = append(kept, metav1.Condition{
			Type: condition, Status: metav1.ConditionStatus(status), Reason: reason,
			LastTransitionTime: metav1.NewTime(baseTime.Add(time.Duration(seconds) * time.Second)),
		})
	}
}

func withReservation(queue string, gpus int64) workloadOption {
	return func(wl *kueue.Workload) {
		wl.Status.Admission = &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(queue), PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "main", Count: ptr.To(int32(gpus)), ResourceUsage: corev1.ResourceList{"gpu": *resource.NewQuantity(gpus, resource.DecimalSI)},
			Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": "red"},
		}}}
		withCondition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", 0)(wl)
	}
}

func withAdmitted(seconds int) workloadOption {
	return withCondition(kueue.WorkloadAdmitted, "True", "Admitted", seconds)
}

func withFinished(seconds int) workloadOption {
	return withCondition(kueue.WorkloadFinished, "True", "Succeeded", seconds)
}

func withReleased(seconds int) workloadOption {
	return func(wl *kueue.Workload) {
		wl.Status.Admission = nil
		withCondition(kueue.WorkloadQuotaReserved, "False", "PendingEvaluation", seconds)(wl)
		withCondition(kueue.WorkloadAdmitted, "False", "NoReservation", seconds)(wl)
		withCondition(kueue.WorkloadPodsReady, "False", "WaitForStart", seconds)(wl)
	}
}

// withEviction counts the eviction, as its writer does.
func withEviction(reason, cause string, seconds int) workloadOption {
	return func(wl *kueue.Workload) {
		if wl.Status.SchedulingStats == nil {
			wl.Status.SchedulingStats = &kueue.SchedulingStats{}
		}
		withCondition(kueue.WorkloadEvicted, "True", reason+cause, seconds)(wl)
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
