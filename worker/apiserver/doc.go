// Package apiserver is the program's own API server: what an aggregation layer or a client reaches under /apis. It authenticates and
// authorizes as the cluster's API server would, by asking it, and serves the API groups that it is given. It stores nothing and knows
// nothing of what the groups mean.
//
// DESIGN.md says what is checked where, and what a request may hold.
package apiserver
