package charts_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// foreign are metrics of the libraries in our programs, and their labels.
var foreign = map[string][]string{
	"controller_runtime_reconcile_total":         {"controller", "result"},
	"controller_runtime_reconcile_errors_total":  {"controller"},
	"controller_runtime_webhook_latency_seconds": {"webhook"},
	"controller_runtime_webhook_requests_total":  {"webhook", "code"},
	"leader_election_master_status":              {"name"},
	"rest_client_requests_total":                 {"code", "method", "host"},
	"process_resident_memory_bytes":              {},
	"switchyard_fence_lease_holds":               {"lease"},
	"switchyard_fence_stopped_workloads_total":   {"lease", "reason"},
	"switchyard_fence_cannot_stop":               {},
	"switchyard_fence_overdue_jobs":              {"kind", "reaction"},
}

// metrics are all metrics that the programs serve, by name, with their labels.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../worker/metrics/testdata/metrics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, "\t"); len(fields) > 3 {
			known[fields[1]] = append(strings.Split(fields[3], ","), "replica_role")
		}
	}
	for name, labels := range foreign {
		known[name] = labels
	}
	return known
}

func rules(t *testing.T) monitoring.PrometheusRuleSpec {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/files/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestAlertsAskForMetricsThatExist(t *testing.T) {
	known, seen := metrics(t), map[string]bool{}
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if seen[rule.Alert] {
				t.Errorf("%s is there twice", rule.Alert)
			}
			seen[rule.Alert] = true
			checkQuery(t, known, rule.Alert, rule.Expr.String())
			if rule.Annotations["summary"] == "" || rule.For == nil || !slices.Contains([]string{"info", "warning", "critical"}, rule.Labels["severity"]) {
				t.Errorf("%s lacks summary, time or severity", rule.Alert)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d alerts", len(seen))
	}
}

func TestTheDashboardAsksForMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/files/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	known, ids, queries := metrics(t), map[int]bool{}, 0
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			checkQuery(t, known, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			queries++
		}
	}
	if queries < 15 {
		t.Errorf("only %d queries", queries)
	}
}

var ofHistogram = regexp.MustCompile(`_(bucket|count|sum)$`)

// checkQuery fails for what does not parse, and for metrics and labels that do not exist.
func checkQuery(t *testing.T, known map[string][]string, where, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		has, exists := known[ofHistogram.ReplaceAllString(selector.Name, "")]
		if !exists {
			has, exists = known[selector.Name]
		}
		if !exists {
			t.Errorf("%s: nobody serves %s", where, selector.Name)
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && m.Name != "namespace" && !slices.Contains(has, m.Name) {
				t.Errorf("%s: %s has no label %s", where, selector.Name, m.Name)
			}
		}
		return nil
	})
}

// Ours among the foreign ones: their names stand in the programs' source.
func TestTheMetricsOfOurOwnAreInTheSource(t *testing.T) {
	for name := range foreign {
		if strings.HasPrefix(name, "switchyard_") && !inSource(t, `"`+name+`"`) {
			t.Errorf("no program measures %s", name)
		}
	}
}

func inSource(t *testing.T, literal string) bool {
	t.Helper()
	found := false
	for _, dir := range []string{"../worker", "../admissioncheck", "../hub"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || found || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			found = strings.Contains(string(text), literal)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
