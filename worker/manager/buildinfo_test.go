package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestTheBuildInfoIsOneAndSaysWhatWasBuilt(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newBuildInfo())
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].Metric) != 1 {
		t.Fatalf("gathered %v, %v", families, err)
	}
	metric := families[0].Metric[0]
	var labels []string
	for _, l := range metric.Label {
		labels = append(labels, l.GetName())
		if l.GetValue() == "" {
			t.Errorf("%s is empty", l.GetName())
		}
	}
	want := []string{"build_date", "compiler", "git_commit", "git_version", "go_version", "platform"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Error(diff)
	}
	if families[0].GetName() != "kueue_build_info" || metric.GetGauge().GetValue() != 1 {
		t.Errorf("it is %v", families[0])
	}
}
