package sim

import (
	"errors"
	"time"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
)

// The commands of the people who run the clusters, and what goes wrong with the programs of workers.

// policy run-once [grace=15m]: what is done about clusters out of reach.
func (c command) setPolicy() error {
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
	c.policy.ByName, c.policy.Orchestrate = old.ByName, old.Orchestrate
	return nil
}

// stock w1: that worker has no fence.
func (c command) stock() error {
	c.worker(c.arg(0)).guard.stock = true
	return nil
}

// skew w1 -10s: that worker's clock is so much ahead of the hub's; at most what the margin allows.
func (c command) skew() error {
	d, err := time.ParseDuration(c.arg(1))
	if err == nil && d.Abs() <= maxSkew {
		c.worker(c.arg(0)).guard.skew = d
	}
	return err
}

// down w1 for=15s: that worker's program crashes and is started again.
func (c command) downWorker() error {
	d, err := time.ParseDuration(c.option("for", "0s"))
	if err == nil {
		c.crashWorker(c.worker(c.arg(0)), d)
	}
	return err
}

// lookTurn is the command fence w1: that worker's fence looks now.
func (c command) lookTurn() error {
	c.look(c.worker(c.arg(0)))
	return nil
}

// renew w1, or renew w1 unanswered: the hub renews its lease, and perhaps never learns that it has.
func (c command) renewTurn() error {
	c.renew(c.worker(c.arg(0)), c.arg(1) != "unanswered")
	return nil
}

// mark is the command of an annotation on the MultiKueueCluster.
func mark(of func(*hub) map[string]bool, set bool) func(command) error {
	return func(c command) error {
		of(c.hub)[c.arg(0)] = set
		c.changed()
		return nil
	}
}

func cordons(h *hub) map[string]bool { return h.cordoned }
func drains(h *hub) map[string]bool  { return h.draining }

// gone w1: the cluster burns down, and somebody says so. What it had not told is lost.
func (c command) gone() error {
	w := c.worker(c.arg(0))
	w.up = false
	for name := range w.copies {
		w.reckon(name, present[copied]{})
	}
	w.copies, w.jobs, w.ghosts = map[string]copied{}, map[string]remoteJob{}, nil
	w.guard.renewed = time.Time{}
	c.ledger.burnt(w)
	c.hub.gone[w.name] = true
	c.changed()
	return nil
}

// back w1: an empty cluster takes its place.
func (c command) back() error {
	c.hub.gone[c.arg(0)] = false
	c.worker(c.arg(0)).up = true
	c.changed()
	return nil
}

// reportTurn is the command report w1: the hub learns what room there is.
func (c command) reportTurn() error {
	if c.program != nil {
		c.report(c.worker(c.arg(0)))
	}
	return nil
}
