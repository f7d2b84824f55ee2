// Package fleet keeps one supervisor for each worker cluster. A supervisor owns everything that can be slow about its
// cluster: the connection and its backoff, the probe, the informers, the queue of writes with its budget and timeouts. A
// reconcile therefore never calls a worker: it reads what a supervisor last saw and hands it the actions to run; answers
// and changes come back as requests for the hub's controllers. One dead or slow cluster can delay nothing but itself.
//
// The package knows clusters, objects and actions, not dispatching: what to do with them is decided elsewhere.
package fleet
