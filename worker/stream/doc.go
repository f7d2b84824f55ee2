// Package stream decodes the API server's watch of Workloads for a cache. A general client reads each text some eight times; this one
// walks over it once to find its parts, leaves out the managed fields, and has the general decoder decode the rest. A text that looks
// unusual is decoded as any client does. A test holds the two against each other.
//
// It also sees to it that objects of a kind that others bring go from the cache with their CRD.
package stream
