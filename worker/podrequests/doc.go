// Package podrequests knows what a pod asks of the quota: what the API server would make of its template in its namespace
// (RuntimeClass overhead, LimitRange defaults, requests from limits, pod-level resources), less the resources that do not
// count, with those that count as others turned into them (contract: kueue-api.md 4.16, AdjustResources and transformations).
//
// It reads API types and writes the core's; it holds no state and does no I/O, and it never changes what it is given.
package podrequests
