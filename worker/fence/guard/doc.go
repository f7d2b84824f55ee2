// Package guard carries out what package fence decides. It follows the run leases of hubs in the program's namespace, and
// stops the jobs of a hub whose lease has run out by deactivating their Workloads. It keeps a lease of its own by which hubs
// see that a fence is at work. Only the leading program does so.
package guard
