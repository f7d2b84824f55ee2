package sim

import (
	"errors"
	"strconv"
)

// The commands that make workers differ, and Workloads wait for others.

// trait changes how a worker is, and lets what waits there be looked at again.
func trait(change func(*worker)) func(command) error {
	return func(c command) error {
		w := c.worker(c.arg(0))
		change(w)
		w.rule()
		for name, obj := range w.copies {
			w.reckon(name, present[copied]{true, obj})
		}
		c.changed()
		return nil
	}
}

// squat w1 4: a workload of that cluster's own, with a lower priority, holds so many GPUs, if they are free.
func (c command) squat() error {
	n, err := strconv.ParseInt(c.arg(1), 10, 64)
	if w := c.worker(c.arg(0)); err == nil && w.squatted == 0 && w.free() >= n {
		w.squatted = n
		w.settleSquatter()
		c.changed()
	}
	return err
}

// weight w1 50: how much people like that cluster.
func (c command) weigh() error {
	n, err := strconv.Atoi(c.arg(1))
	if err == nil {
		c.worker(c.arg(0)).weight = n
	}
	return err
}

// checks j1 wait, or checks j1 ready: the other checks of that Workload.
func (c command) checks() error {
	return c.update(func(item *workload) { item.unchecked = c.arg(1) == "wait" })
}

// orchestrate: copies are made with a preemption gate from now on.
func (c command) orchestrate() error {
	c.policy.Orchestrate = true
	return nil
}

// by-name: the incremental dispatcher goes by the names of the clusters.
func (c command) byName() error {
	if c.arg(0) != "" {
		return errors.New("too many words")
	}
	c.policy.ByName = true
	return nil
}
