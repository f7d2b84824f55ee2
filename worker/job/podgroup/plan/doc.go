// Package plan decides what to do with pods that have one Workload: a group of pods, or a pod that is alone. It is pure: facts
// in, a plan out, with the time as one of the facts. The reconciler reads the facts and carries the plan out.
//
// One plan is one kind of change. After a crash, a conflict or half of a plan the next look goes on from the state that is there.
package plan
