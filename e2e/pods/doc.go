// Package pods proves on a real API server, with Kubernetes' own controllers and simulated nodes, that pods, groups of them, and what has its
// pods wait share a cluster by quota: that they queue, run, scale, are replaced and end, and that nobody gets by without quota. On a hub with two
// workers it proves that they run on one of these, once, and leave nothing there.
package pods
