// Package wire bounds what may come over the connection to a worker: how much of an answer is read, in which form, where it may
// lead, and which of its texts a person gets to see. A worker is not trusted with the memory of the hub. DESIGN.md has the
// reckoning.
package wire
