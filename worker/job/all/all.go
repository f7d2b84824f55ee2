// Package all is the one list of the kinds of job that are compiled in.
package all

import (
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

// Kinds returns every integration, in the order of the contract's catalogue (contract: kueue-api.md 3.2).
func Kinds() []job.Integration {
	return []job.Integration{
		job.NewIntegration(batchjob.Kind()),
		job.NewIntegration(jobset.Kind()),
	}
}
