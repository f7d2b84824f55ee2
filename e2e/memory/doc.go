// Package memory serves Kubernetes APIs out of memory: as much of the protocol as controllers need, over TLS and HTTP/2, by
// the hundred in one process. It exists to measure a hub with more workers than a machine can run API servers for; see
// DESIGN.md for what it leaves out.
package memory
