// Package queuestatus is the frame of the controllers that write what the view counts into the status of queues and cohorts:
// one reconciler for all kinds, and the pace at which figures are written (contract: kueue-api.md 1.18, "event driven,
// coalesced").
package queuestatus
