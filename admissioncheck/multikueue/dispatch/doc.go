// Package dispatch decides, for one Workload of a hub, what to offer to which worker cluster, which cluster wins, when
// its job is created, and when a cluster is given up. It is a pure function: Step takes what is stored on the Workload
// (State), what can be seen right now (Observation) and the rules chosen by the operator (Policy), and returns a Plan.
//
// A Plan either changes the State or acts, never both: if Plan.Next differs from the State that was read, the caller
// writes it (together with the Verdict, in one status write guarded by the resource version) and runs no action; if it
// does not differ, the caller runs the Actions in order and stops at the first failure. A crash after any prefix of the
// actions needs no recovery: Step is asked again and answers from what it then sees.
//
// The order of the cases and every message in backquotes are those of contract: multikueue.md 4. DESIGN.md holds
// the invariants and the table of crash points.
package dispatch
