// Package stream reads Workloads off the API server's watch for a cache, at a fraction of what a general client spends on
// it: each event's text is walked over once to find its parts, managed fields are left out, and a spec that was seen before
// (the same Workload's, or that of a copy of the same job) is not decoded again but shared. Whatever looks unusual is decoded
// as any client does; a test holds the two against each other.
//
// What comes out is for a cache, whose objects nobody changes.
package stream
