// Package runner is the generic controller of an admission check: for every Workload that holds quota and has an entry for
// one of the controller's AdmissionChecks it asks a Resolver, writes the answer into that entry, and tells about it. It
// also keeps the condition Active of those AdmissionChecks. What a check waits for is the Resolver's business alone.
package runner
