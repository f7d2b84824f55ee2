// Package sim runs the real dispatcher, dispatch.Step, in a small model of a hub and its worker clusters: stores in
// memory, informers that lag, lose their watch and show one kind before the other, API calls that fail before or after
// they take effect, partitions that are noticed late, crashes that forget everything not stored, and a clock that only
// moves when told to. There is no goroutine and no chance in it: everything that happens is a command, so that a random
// run is a script, and a failing one is printed as the script that replays it.
//
// What must hold is checked after every command (invariants.go) and once more when all faults have healed (final.go).
package sim
