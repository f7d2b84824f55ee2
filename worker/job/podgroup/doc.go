// Package podgroup has plain pods, alone and in groups, wait for quota and run with it (contract: job-kinds.md 10). It is the second
// shape of a job beside [switchyard.dev/worker/job.Kind]: one Workload may stand for many objects, none of which can be suspended. A
// pod that must not run is deleted.
//
// The decisions are in plan, which is pure; the webhook is in podwebhook. This package reads, acts and records.
package podgroup
