// Package lifecycle decides what becomes of one workload after it has been queued: whether its gates let it be admitted,
// when it is evicted, when its quota is released, and when it may queue again (contract: kueue-api.md 4.11, 4.13, 4.16).
//
// A State is what is stored about the workload, an Observation is what is true around it, and [Step] is the whole
// decision. [Derive] computes the conditions that merely follow from facts; every writer of the admission part of a
// Workload's status applies it before writing, so that there is no second opinion about Admitted. [Reserve], [Evict],
// [Release] and [Finish] are the four events in a workload's life, each with one home here; [Hold] and [Resume] are for jobs that may
// ask for nothing.
//
// Nothing here knows of clusters, hubs or jobs: another cluster's consent is one more admission check.
package lifecycle
