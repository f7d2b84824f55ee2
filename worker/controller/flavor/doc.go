// Package flavor is the controller of ResourceFlavors: one that is being deleted stays until no ClusterQueue names it
// (contract: kueue-api.md 2.3).
package flavor
