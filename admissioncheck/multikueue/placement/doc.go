// Package placement knows where a workload fits best: it ranks the clusters of a fleet for one workload, by what each says
// that it has room for and by what the hub has under way there, and gives for each the reason in words.
//
// It is pure. What a cluster publishes may be old, or guessed from the outside, so that a rank is advice: a caller that offers
// the workload must be ready for a refusal, and nothing here says that a job may run (that is package dispatch).
package placement
