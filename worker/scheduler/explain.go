package scheduler

import (
	"context"

	"github.com/go-logr/logr"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/cycle"
)

const (
	// explainLogLevel is the log level at which every workload that is told to wait is explained.
	explainLogLevel = 4
	// maxExplained bounds the explanations of a cycle, which holds the view while it makes them.
	maxExplained = 50
)

// explainWaits accounts for the decisions to wait, if there is a listener.
func (l *Scheduler) explainWaits(ctx context.Context, s *admission.Snapshot, plan admission.Plan) []admission.Explanation {
	if !logr.FromContextOrDiscard(ctx).V(explainLogLevel).Enabled() {
		return nil
	}
	var list []admission.Explanation
	for _, d := range plan.Decisions {
		if d.Outcome != admission.Wait || len(list) == maxExplained {
			continue
		}
		if e, waits := cycle.Explain(s, d.Workload, l.config.Cycle); waits {
			list = append(list, e)
		}
	}
	return list
}

func logExplanations(ctx context.Context, list []admission.Explanation) {
	log := logr.FromContextOrDiscard(ctx).V(explainLogLevel)
	for _, e := range list {
		log.Info("A workload waits", "workload", e.Workload.String(), "clusterQueue", e.Queue, "explanation", e)
	}
}
