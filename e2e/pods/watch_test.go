package pods

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"switchyard.dev/e2e/clusters"
)

// podWatches is how many watches of pods the API server has, for whomever.
func (s *stage) podWatches(t *testing.T) (int, error) {
	t.Helper()
	c, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return 0, err
	}
	data, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		return 0, err
	}
	total, families := 0, 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "apiserver_longrunning_requests{") {
			continue
		}
		families++
		if strings.Contains(line, `resource="pods"`) {
			fields := strings.Fields(line)
			n, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	if families == 0 {
		return 0, errors.New("the API server counts no watches")
	}
	return total, nil
}

// Nobody but kube-apiserver and the program watches anything on this cluster.
func TestPodsAreWatchedOnlyWhereTheyAreServed(t *testing.T) {
	for name, c := range map[string]struct {
		frameworks []any
		want       int
	}{
		"jobs":         {[]any{"batch/job", "jobset.x-k8s.io/jobset"}, 0},
		"pods":         {[]any{"batch/job", "pod"}, 1},
		"statefulsets": {[]any{"deployment", "statefulset"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := startCluster(t, clusters.Options{Name: name})
			before, err := s.podWatches(t)
			if err != nil {
				t.Fatal(err)
			}
			s.startProgram(t, c.frameworks)
			tm := s.newQueue(t, "team", 1)
			// The parts of the program have started once it serves a queue.
			tm.expectUsage("0 wait, 0 run, 0 CPUs")
			tm.eventually("watches of pods", func() error {
				got, err := s.podWatches(t)
				if err == nil && got != before+c.want {
					err = fmt.Errorf("there are %d, want %d more than %d", got, c.want, before)
				}
				return err
			})
		})
	}
}
