// Package job is the contract between a kind of job (batch Job, JobSet, ...) and Switchyard, and everything that follows
// from it. A kind is a [Kind] literal: pure functions over one typed object, no client and no clock. From it this package
// derives the reconciler that keeps exactly one Workload per job and starts and stops the job with it, the webhooks that
// suspend and validate managed jobs, the names and indexes of Workloads, and the type-erased [Integration] through which
// the dispatcher copies a job to another cluster and brings its status back.
//
// The decision what to do with a job is [Step], a pure table (contract: kueue-api.md 3.1); the reconciler only observes,
// acts and records.
package job
