// Package guard carries out what package fence decides: it follows the run leases of hubs in the program's namespace, stops
// the jobs of a hub whose lease has run out by deactivating their Workloads, and keeps a lease of its own by which hubs
// see that somebody looks. Only the leading program does so.
package guard
