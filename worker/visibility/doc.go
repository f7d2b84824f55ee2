// Package visibility serves the API for pending workloads: what waits in a ClusterQueue or a LocalQueue, in the order in which it is
// looked at. It has no order of its own: it asks the view from which scheduling cycles decide.
//
// DESIGN.md says how old an answer may be, and why the package is not below hub/.
package visibility
