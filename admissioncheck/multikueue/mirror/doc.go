// Package mirror knows what a hub's Workload and job look like on a worker cluster: how a copy is made and stamped, which hub
// and Workload an object found there belongs to, whether it still equals the original, and how it is created, removed and
// read.
//
// A copy is stamped in its metadata only, never in its spec: the origin label says which hub made it (contract:
// multikueue.md 0), the annotations of this package which Workload it was made for and in which epoch. A copy without
// those annotations was made by another program of the same origin and counts as ours, of epoch 0. One that names another hub
// is that hub's, whatever its origin. An object of another hub, of another origin, or of none, is never touched.
//
// Everything here works on one cluster through the client it is given, or on values alone; it keeps nothing.
package mirror
