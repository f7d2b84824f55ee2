// Package profile reaches worker clusters that are known by a ClusterProfile of the cluster inventory: it follows the
// profiles in the hub's namespace, asks the cluster inventory library for a connection through one of the configured
// access providers, applies the rules for credentials, and runs the provider's program when a request needs credentials.
//
// A program may hang, and client-go would wait for it under a lock that clusters share, without regard to the request's
// deadline. Here each cluster has its own, which is killed when it takes too long, and a request never waits longer than
// its context.
package profile
