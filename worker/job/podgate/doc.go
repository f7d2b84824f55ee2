// Package podgate lets pods of elastic jobs go that have been admitted (contract: job-kinds.md 15, ungater). They are created with a
// scheduling gate, more of them than there is quota for while their job grows. By which slice they go the job's reconciler says ([Reconciler.Trust]).
package podgate
