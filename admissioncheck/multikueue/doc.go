// Package multikueue is the multikueue admission check: it mirrors Workloads that have quota on this cluster, the hub, to
// worker clusters, and lets the first one that admits its copy run the job (contract: multikueue.md).
//
// [Setup] adds it to a manager. What happens is decided in dispatch, which is pure; controller observes and acts; fleet
// talks to the workers; mirror knows what copies look like.
package multikueue
