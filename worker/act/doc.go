// Package act carries out what the scheduling cycle decides: one loop, on the leader only, that runs a cycle whenever the
// view changes, writes each admission as one server-side apply, and tells waiting workloads why they wait at a bounded
// rate. It decides nothing itself. Events and metrics follow the writes they speak of.
package act
