// Package access lets people who submit to the hub look after their jobs on the workers, without a worker's credentials: what is
// below clusters/{name}/proxy of the aggregated API access.switchyard.dev looks like a Kubernetes API server that has the pods,
// logs, events and jobs of one hub, and nothing else.
//
// A request goes through these steps, each in a file of its own:
//
//   - request.go says what is asked for. What it cannot read is not served: the worker's path is built from the parts that were
//     read, never from the caller's.
//   - authorize.go asks the hub's API server whether the caller may do that, in the words of the core API.
//   - placement.go says on which workers the namespace has jobs. ownership.go says which pods there belong to them.
//   - list.go, watch.go and stream.go answer.
//
// A worker is reached with an account of its own for this (clusters.go). Nothing that says who the caller is leaves the hub.
package access
