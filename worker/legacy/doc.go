// Package legacy speaks, at the border to the API, the coarse reasons that Workloads had before the gate
// UnadmittedWorkloadsObservability, for those who switch it off (contract: kueue-api.md 1.13, 6).
//
// Inside there is only one vocabulary, the detailed one: [Client] translates what is written to the status of a Workload and
// what the API answers, [Transform] what informers deliver. Nothing is lost on the way: where one coarse reason stands for
// several, the message begins with the detailed one, which tells people more and lets a program that has just started
// know what was said. A coarse reason without it, written by somebody else, stays as it is.
package legacy
