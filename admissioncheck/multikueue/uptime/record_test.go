package uptime

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

func timeAfter(d time.Duration) time.Time { return noon.Add(d) }

func TestWhatAHubHasNoRecordOf(t *testing.T) {
	first := uptime{}.withRestart(noon)
	second := uptime{until: timeAfter(time.Hour), downtimes: first.downtimes}.withRestart(timeAfter(2 * time.Hour))
	for name, tc := range map[string]struct {
		record uptime
		made   time.Time
		want   bool
	}{
		"no record at all":                      {uptime{}, noon, false},
		"before the first record":               {first, timeAfter(-1000 * time.Hour), true},
		"long after it":                         {first, timeAfter(2 * uptimeSlack), false},
		"so soon after it that clocks may lie":  {first, timeAfter(uptimeSlack), true},
		"while the program ran":                 {second, timeAfter(30 * time.Minute), false},
		"while it did not":                      {second, timeAfter(90 * time.Minute), true},
		"in the last moments of one that died":  {second, timeAfter(time.Hour - uptimeSlack), true},
		"after the one that runs began":         {second, timeAfter(3 * time.Hour), false},
		"before the first record, at a restart": {second, timeAfter(-time.Hour), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.record.isUnrecorded(tc.made); got != tc.want {
				t.Errorf("unknown: %t", got)
			}
		})
	}
}

func TestARecordOfUptimeIsReadAsItWasWritten(t *testing.T) {
	u := uptime{}.withRestart(noon)
	for i := range 3 * maxDowntimes {
		u.until = timeAfter(time.Duration(i)*time.Hour + 30*time.Minute)
		u = u.withRestart(timeAfter(time.Duration(i)*time.Hour + 40*time.Minute + time.Millisecond))
	}
	if len(u.downtimes) != maxDowntimes {
		t.Errorf("it has grown to %d", len(u.downtimes))
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{switchyard.DowntimesAnnotation: u.formatDowntimes()}},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: u.until}},
	}
	read, err := parseUptime(lease)
	if err != nil || read.formatDowntimes() != u.formatDowntimes() {
		t.Fatalf("got %v, %v\nwant %v", read.formatDowntimes(), err, u.formatDowntimes())
	}
	for i := range 3 * maxDowntimes {
		if made := timeAfter(time.Duration(i)*time.Hour + 35*time.Minute); !read.isUnrecorded(made) {
			t.Fatalf("what was made at %v is taken for known: joining downtimes may add time, never take any", made)
		}
	}
}

func TestAnUnreadableRecordIsNone(t *testing.T) {
	for _, text := range []string{"", "/", "yesterday/today", "2026-11-21T12:00:00Z/2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z"} {
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{switchyard.DowntimesAnnotation: text}},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: noon}},
		}
		if _, err := parseUptime(lease); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if _, err := parseUptime(&coordinationv1.Lease{}); err == nil {
		t.Error("a lease that says nothing was read")
	}
}
