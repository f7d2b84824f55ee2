// Package stream reads Workloads as the API server writes them, on its watch for a cache and in its answers to what is
// written, at a fraction of what a general client spends on it: each text is walked over once to find its parts, managed
// fields are left out, and a spec that was seen before (the same Workload's, or that of a copy of the same job) is not decoded
// again. Whatever looks unusual is decoded as any client does; a test holds the two against each other.
//
// Specs are shared between the objects of a cache, which nobody changes. Answers share nothing.
package stream
