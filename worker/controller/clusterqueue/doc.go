// Package clusterqueue is the controller of ClusterQueues: it writes their status from the view, gathered, and lets go of
// one that is being deleted once no workload holds its quota (contract: kueue-api.md 1.18, 2.3).
package clusterqueue
