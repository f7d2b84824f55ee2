// Package kube is the only I/O kit that reconcilers share: write an object at most once and only when it differs, apply
// the admission part of a Workload's status, record events after the write they speak of, and requeue at an absolute time.
// It decides nothing.
package kube
