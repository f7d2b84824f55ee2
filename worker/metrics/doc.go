// Package metrics is the metrics of the queues (contract: kueue-api.md 5): counters and histograms of what happens to Workloads,
// and gauges that a scrape reads from the view. Labels of the objects themselves are added as the configuration says.
package metrics
