// Package uptime keeps the hub's identity and the record of when its program has run. After a restore from a backup the record tells
// which Workloads the hub cannot know of.
package uptime
