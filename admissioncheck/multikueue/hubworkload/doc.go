// Package hubworkload reads what a Workload on the hub says: the dispatcher's State, the job that owns it and its siblings. It also has the
// indexes by which such Workloads are found in the hub's cache.
package hubworkload
