package sim

import (
	"errors"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The commands of administrators of the clusters, and what goes wrong with the programs of workers.

// policy run-once [grace=15m]: what is done about clusters out of reach.
func setPolicy(c command) error {
	grace, err := time.ParseDuration(c.option("grace", "15m"))
	if err != nil {
		return err
	}
	old := c.policy
	switch c.arg(0) {
	case "compatible":
		c.policy = dispatch.Compatible(grace)
	case "run-once":
		c.policy = dispatch.RunOnce(grace, leaseDuration, skewMargin)
	case "never-lose":
		c.policy = dispatch.NeverLose(grace)
	default:
		return errors.New("no such policy")
	}
	c.policy.Dispatcher, c.policy.StepSize, c.policy.HedgeAfter = old.Dispatcher, old.StepSize, old.HedgeAfter
	c.policy.ByName, c.policy.OrchestratePreemption, c.policy.RetainFinished = old.ByName, old.OrchestratePreemption, old.RetainFinished
	return nil
}

// useStockWorker w1: that worker has no fence.
func useStockWorker(c command) error {
	c.lookupWorker(c.arg(0)).fence.stock = true
	return nil
}

// setSkew w1 -10s: that worker's clock is so much ahead of the hub's; at most what the margin allows.
func setSkew(c command) error {
	d, err := time.ParseDuration(c.arg(1))
	if err == nil && d.Abs() <= maxSkew {
		c.lookupWorker(c.arg(0)).fence.skew = d
	}
	return err
}

// down w1 for=15s: that worker's program crashes and is started again.
func stopWorkerProgram(c command) error {
	d, err := time.ParseDuration(c.option("for", "0s"))
	if err == nil {
		c.crashWorker(c.lookupWorker(c.arg(0)), d)
	}
	return err
}

// runFence is the command fence w1: that worker's fence looks now.
func runFence(c command) error {
	c.stepFence(c.lookupWorker(c.arg(0)))
	return nil
}

// renew w1, or renew w1 unanswered: the hub renews its lease, and perhaps never learns that it has.
func runRenew(c command) error {
	c.renewLease(c.lookupWorker(c.arg(0)), c.arg(1) != "unanswered")
	return nil
}

// setAnnotation is the command of an annotation on the MultiKueueCluster.
func setAnnotation(of func(*hub) map[string]bool, set bool) func(command) error {
	return func(c command) error {
		of(c.hub)[c.arg(0)] = set
		c.markChanged()
		return nil
	}
}

func cordonedClusters(h *hub) map[string]bool { return h.cordoned }
func drainingClusters(h *hub) map[string]bool { return h.draining }

// destroyCluster w1: the cluster burns down, and an administrator says so. What it had not told is lost.
func destroyCluster(c command) error {
	w := c.lookupWorker(c.arg(0))
	w.up = false
	gone := w.workloads
	w.workloads, w.jobs, w.orphanedPods = map[string]remoteWorkload{}, map[string]remoteJob{}, nil
	for name := range gone {
		w.syncSnapshot(name, optional[remoteWorkload]{})
	}
	w.fence.renewed = time.Time{}
	c.history.excuseCluster(w)
	c.hub.declaredGone[w.name] = true
	c.markChanged()
	return nil
}

// restoreCluster w1: an empty cluster takes its place.
func restoreCluster(c command) error {
	c.hub.declaredGone[c.arg(0)] = false
	c.lookupWorker(c.arg(0)).up = true
	c.markChanged()
	return nil
}

// runReport is the command report w1: the hub learns what room there is.
func runReport(c command) error {
	if c.driver != nil {
		c.reportCapacity(c.lookupWorker(c.arg(0)))
	}
	return nil
}
