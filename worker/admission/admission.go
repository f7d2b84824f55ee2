// Package admission is the vocabulary of the admission core and the state it decides on: workloads that wait, queues,
// cohorts and flavors that offer quota, and the Snapshot that holds them all.
//
// The Snapshot is kept up to date by small mutations (worker/view makes one for each informer event) and is never
// rebuilt or cloned. Package cycle runs a scheduling cycle on it and returns a Plan; package lifecycle decides about a
// single workload between cycles.
//
// The package is pure: no clock, no goroutines, no package variables. A Snapshot must not be used concurrently.
package admission
