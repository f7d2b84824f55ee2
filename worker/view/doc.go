// Package view keeps the admission core's Snapshot equal to what the API server said, one informer event at a time, plus
// what this process has decided and not yet seen confirmed (assume and forget).
//
// It never writes to the API. One mutex guards everything; a scheduling cycle runs with it held, because a cycle is pure
// and short, and the writes that follow happen outside. DESIGN.md has the law of assumptions and the crash table.
package view
