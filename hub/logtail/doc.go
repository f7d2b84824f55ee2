// Package logtail keeps on the hub how the logs of a failed job end, before its pods are removed from the worker. It reads them by the hub's account
// for its users (hub/access), and keeps them in one ConfigMap for each job, bounded in size, number and age.
package logtail
