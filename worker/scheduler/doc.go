// Package scheduler carries out what the scheduling cycle decides: one loop, on the leader only, that runs a cycle whenever the
// view changes and waits for no write. Admissions and evictions are one server-side apply each, written side by side, the
// most urgent first; waiting workloads are told why they wait, and events are sent, at a pace that leaves the API server to
// them. It decides nothing itself. Events and metrics follow the writes they speak of.
package scheduler
