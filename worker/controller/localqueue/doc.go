// Package localqueue is the controller of LocalQueues: it writes their status from the view, gathered (contract:
// kueue-api.md 1.18).
package localqueue
