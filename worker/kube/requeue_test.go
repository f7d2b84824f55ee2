package kube_test

import (
	"testing"
	"time"

	"switchyard.dev/worker/kube"
)

func TestRequeueAtIsNothingForTheZeroTimeAndNowForThePast(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		at   time.Time
		want time.Duration
	}{
		{"the zero time is no wake", time.Time{}, 0},
		{"a later time is waited for", now.Add(time.Minute), time.Minute},
		{"a past time is at once", now.Add(-time.Hour), time.Nanosecond},
		{"this very moment is at once", now, time.Nanosecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kube.RequeueAt(c.at, now).RequeueAfter; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEarliestNeverTakesTheZeroTime(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		name  string
		times []time.Time
		want  time.Time
	}{
		{"of none is none", nil, time.Time{}},
		{"of zeros is none", []time.Time{{}, {}}, time.Time{}},
		{"zero does not win", []time.Time{late, {}, early}, early},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kube.Earliest(c.times...); !got.Equal(c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
