package view

import (
	config "switchyard.dev/apis/config/v1beta2"
)

// Options are the settings that change what a workload's place in its queue is.
type Options struct {
	// OrderByCreation keeps a workload that was evicted by PodsReadyTimeout at its place by creation; otherwise its
	// eviction counts (contract: kueue-api.md 4.2 row 4; waitForPodsReady.requeuingStrategy.timestamp).
	OrderByCreation bool
}

// OptionsFor are the settings that a configuration asks for.
func OptionsFor(cfg *config.Configuration) Options {
	pods := cfg.WaitForPodsReady
	if pods == nil || pods.RequeuingStrategy == nil || pods.RequeuingStrategy.Timestamp == nil {
		return Options{}
	}
	return Options{OrderByCreation: *pods.RequeuingStrategy.Timestamp == config.CreationTimestamp}
}
