package kube

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// RequeueAt asks the controller to look again at the given time. The zero time means "no requeue". A time that is not after now
// asks for another look at once.
func RequeueAt(at, now time.Time) ctrl.Result {
	if at.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(now), time.Nanosecond)}
}

// Earliest returns the first of the given times, ignoring zero ones, which mean "no requeue" and so can never win; it is
// zero when there is no other.
func Earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
