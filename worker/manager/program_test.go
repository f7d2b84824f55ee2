package manager

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
)

// broken would fail the test if anything past its settings ran.
func broken(t *testing.T, compose func(Settings) ([]Part, prometheus.Gatherer, error)) Program {
	t.Helper()
	return Program{Name: "test", Compose: compose, Scheme: func() (*runtime.Scheme, error) {
		t.Error("went on with bad settings")
		return nil, errors.New("not reached")
	}}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBadInputEndsWithACodeAndAWord(t *testing.T) {
	const head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a flag that does not exist", []string{"--nonsense"}, "nonsense"},
		{"an argument", []string{"start"}, `unexpected argument "start"`},
		{"a file that does not exist", []string{"--config=/does/not/exist"}, "/does/not/exist"},
		{"an unknown field", []string{"--config=" + write(t, head+"webhok: {}\n")}, "webhok"},
		{"a value of the wrong type", []string{"--config=" + write(t, head+"webhook: {port: nine}\n")}, "port"},
		{"a gate that does not exist", []string{"--feature-gates=Nonsense=true"}, "Nonsense"},
		{
			"gates in two places",
			[]string{"--feature-gates=MultiKueue=true", "--config=" + write(t, head+"featureGates: {MultiKueue: true}\n")},
			"not by both",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := broken(t, nil).Run(context.Background(), c.args, &stderr); code != exitBadInput {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("says %q, want %q in it", stderr.String(), c.want)
			}
		})
	}
}

func TestAskingForHelpIsNoFailure(t *testing.T) {
	var stderr bytes.Buffer
	if code := broken(t, nil).Run(context.Background(), []string{"-h"}, &stderr); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, flag := range []string{"config", "feature-gates", "kubeconfig", "zap-log-level"} {
		if !strings.Contains(stderr.String(), "-"+flag) {
			t.Errorf("help does not name -%s", flag)
		}
	}
}

func TestSettingsThatNoPartCanServeEndTheProgram(t *testing.T) {
	var stderr bytes.Buffer
	p := broken(t, func(Settings) ([]Part, prometheus.Gatherer, error) { return nil, nil, errors.New("no such framework") })
	if code := p.Run(context.Background(), nil, &stderr); code != exitBadInput || !strings.Contains(stderr.String(), "no such framework") {
		t.Errorf("exit code %d, says %q", code, stderr.String())
	}
}

func TestGatesGivenByFlagReachThoseWhoReadTheConfiguration(t *testing.T) {
	s, err := options{featureGates: "MultiKueue=false"}.settings()
	if err != nil {
		t.Fatal(err)
	}
	again, err := features.New(s.Configuration.FeatureGates)
	if err != nil || again.Enabled(features.MultiKueue) || s.Gates.Enabled(features.MultiKueue) {
		t.Errorf("MultiKueue is still on, error %v", err)
	}
}

func TestSampleConfigurationsLoad(t *testing.T) {
	for _, name := range []string{"hub.yaml", "worker.yaml"} {
		if _, err := config.LoadFile(filepath.Join("..", "..", "config", "component", name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMetricsAreInPlainTextOnLoopbackOnly(t *testing.T) {
	for address, want := range map[string]bool{
		":8443": false, "0.0.0.0:8443": false, "10.0.0.1:80": false, "127.0.0.1:8080": true, "[::1]:8080": true, "localhost:1": true, "0": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%s is loopback: %v", address, got)
		}
	}
}

func TestTheRoleIsOnMetricsOfTheContractOnly(t *testing.T) {
	inner := prometheus.NewRegistry()
	for _, name := range []string{"kueue_pending_workloads", "multikueue_workloads_dispatched_total", "go_threads_of_a_kind", buildInfo} {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name}, []string{"cluster_queue", "status"})
		g.WithLabelValues("cq", "active").Set(1)
		inner.MustRegister(g)
	}
	self := &replica{}
	self.role.Store(leader)
	families, err := roleGatherer{inner, self}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, family := range families {
		var labels []string
		for _, l := range family.Metric[0].Label {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		got[family.GetName()] = strings.Join(labels, " ")
	}
	want := map[string]string{
		"kueue_pending_workloads":               "cluster_queue=cq replica_role=leader status=active",
		"multikueue_workloads_dispatched_total": "cluster_queue=cq replica_role=leader status=active",
		"go_threads_of_a_kind":                  "cluster_queue=cq status=active",
		buildInfo:                               "cluster_queue=cq status=active",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
