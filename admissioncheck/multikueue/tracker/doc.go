// Package tracker is what the dispatcher remembers between two decisions: what it has done and cannot see yet, and since when it
// waits. The names follow raft's tracker of progress and the scheduler's cache of assumed pods.
//
// It is pure: values in, values out, no clock, no lock, no I/O. The reconciler guards one [Tracker] with a mutex, and the
// simulation runs the same type, so that what is proven there is what runs. A restart of the program begins with an empty
// Tracker; nothing in it is needed for correctness that the API servers do not show again.
package tracker
