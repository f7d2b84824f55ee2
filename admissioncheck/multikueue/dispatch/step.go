package dispatch

// Step decides what happens to one Workload next.
func Step(s State, o Observation, p Policy) Plan {
	return Plan{Next: s, Verdict: Verdict{Check: o.Local.Check, Message: o.Local.CheckMessage}}
}

// CutOff reports whether so many clusters were lost together with the given one that it is the hub that is cut off.
func CutOff(clusters []ClusterView, name string, p Policy) bool { return false }

// Encode turns epoch, reservation and debts into a Record; ok is false if there is nothing to record.
func Encode(s State) (r Record, ok bool) { return Record{}, false }

// Decode restores a State from what is stored. A missing or unreadable record is epoch 1 without known debts.
func Decode(r *Record, nominated []string, bound string) State {
	return State{Epoch: 1, Nominated: nominated, Bound: bound}
}
