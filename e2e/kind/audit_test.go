package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hubAccount is the hub's user name on its workers, programAccount every program's beside its own cluster.
const (
	hubAccount     = "system:serviceaccount:" + system + ":switchyard-hub"
	programAccount = "system:serviceaccount:" + system + ":switchyard"
)

// audit is what a cluster's API server has recorded.
func (c *kindCluster) audit(ctx context.Context) ([]auditv1.Event, error) {
	text, err := c.run(ctx, "sh", "-c", "cat /var/log/kubernetes/audit*.log")
	if err != nil {
		return nil, err
	}
	var events []auditv1.Event
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			continue // still being written
		}
		var event auditv1.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return nil, fmt.Errorf("audit log of %s: %w: %s", c.name, err, line)
		}
		events = append(events, event)
	}
	return events, nil
}

// creation is a job that the hub made on a worker.
type creation struct {
	At time.Time
	On string
}

// creationsOf lists where and when the hub made a Job, in order.
func creationsOf(ctx context.Context, job client.Object) ([]creation, error) {
	return creationsThat(ctx, job, func(s *metav1.Status) bool { return s != nil && s.Code < 300 })
}

// unansweredOf lists the requests to create it that were cut off, so that only the job itself tells whether they have taken effect.
func unansweredOf(ctx context.Context, job client.Object) ([]creation, error) {
	const clientGone = 499
	return creationsThat(ctx, job, func(s *metav1.Status) bool { return s == nil || s.Code >= clientGone })
}

func creationsThat(ctx context.Context, job client.Object, ended func(*metav1.Status) bool) ([]creation, error) {
	var all []creation
	for _, w := range workers {
		events, err := w.audit(ctx)
		if err != nil {
			return nil, err
		}
		for i := range events {
			e := &events[i]
			if e.User.Username == hubAccount && e.Verb == "create" && e.ObjectRef.Resource == "jobs" && e.ObjectRef.Name == job.GetName() &&
				ended(e.ResponseStatus) {
				all = append(all, creation{e.StageTimestamp.Time, w.name})
			}
		}
	}
	slices.SortFunc(all, func(a, b creation) int { return a.At.Compare(b.At) })
	return all, nil
}
