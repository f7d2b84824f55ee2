// Package legacy translates, at the border to the API, to the coarse reasons that Workloads had before the gate
// UnadmittedWorkloadsObservability, for installations that switch it off (contract: kueue-api.md 1.13, 6).
//
// Inside there is only one vocabulary, the detailed one: [Client] translates what is written to the status of a Workload and
// what the API answers, [OwnTransform] and [Transform] what informers deliver. Where one coarse reason stands for several, the
// message tells which: its texts are literal. A coarse reason with another message stays as it is.
package legacy
