package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/job"
)

func TestHowLongANewJobWaitedForItsWorkloadIsMeasured(t *testing.T) {
	for generation, want := range map[int64][]string{1: {"Job 3s"}, 2: nil} {
		var told []string
		j := newJob()
		j.Generation, j.CreationTimestamp = generation, metav1.NewTime(time.Date(2026, 11, 21, 11, 59, 57, 0, time.UTC))
		c := newClusterWith(t, func(o *job.Options) {
			o.Created = func(kind string, latency time.Duration) { told = append(told, kind+" "+latency.String()) }
		}, j)
		c.reconcileAll()
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("generation %d: %s", generation, diff)
		}
	}
}
