package sim

import (
	"errors"
	"strconv"
)

// The commands that make workers differ, and Workloads wait for others.

// changeTrait changes how a worker is, and lets what waits there be looked at again.
func changeTrait(change func(*worker)) func(command) error {
	return func(c command) error {
		w := c.lookupWorker(c.arg(0))
		change(w)
		w.configureQueue()
		for name, obj := range w.workloads {
			w.syncSnapshot(name, optional[remoteWorkload]{true, obj})
		}
		c.markChanged()
		return nil
	}
}

// addPreemptible w1 4: a workload of that cluster's own, with a lower priority, holds so many GPUs, if they are free.
func addPreemptible(c command) error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if w := c.lookupWorker(c.arg(0)); err == nil && w.preemptibleGPU == 0 && w.freeQuota() >= n {
		w.preemptibleGPU = n
		w.syncPreemptible()
		c.markChanged()
	}
	return err
}

// weight w1 50: how much people like that cluster.
func setWeight(c command) error {
	n, err := strconv.Atoi(c.arg(1))
	if err == nil {
		c.lookupWorker(c.arg(0)).weight = n
	}
	return err
}

// setOtherChecks j1 wait, or checks j1 ready: the other checks of that Workload.
func setOtherChecks(c command) error {
	return c.updateWorkload(func(item *workload) { item.otherChecksPending = c.arg(1) == "wait" })
}

// orchestrate: copies are made with a preemption gate from now on.
func enableOrchestration(c command) error {
	c.policy.OrchestratePreemption = true
	return nil
}

// by-name: the incremental dispatcher goes by the names of the clusters.
func setByName(c command) error {
	if c.arg(0) != "" {
		return errors.New("too many words")
	}
	c.policy.ByName = true
	return nil
}
