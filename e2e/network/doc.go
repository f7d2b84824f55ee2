// Package network stands between clients and servers on loopback and does to them what networks do: a Link carries TCP
// connections and can partition, black-hole and delay them, TLS and all; a Checkpoint lets the writes of HTTPS clients
// pass one at a time, counts them, and can close for good behind any of them.
package network
