package fence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is a look at a moment: so many seconds after noon, by the worker's clock and since the fence began, with a lease renewed
// so many seconds after noon that holds 40 s.
func at(seconds int, renewed ...int) Observation {
	o := Observation{Now: noon.Add(time.Duration(seconds) * time.Second), Uptime: time.Duration(seconds) * time.Second}
	for _, r := range renewed {
		o.Lease = &Lease{Renewed: noon.Add(time.Duration(r) * time.Second), Duration: 40 * time.Second}
	}
	return o
}

// clock sets the worker's clock off by some seconds.
func (o Observation) clock(off int) Observation {
	o.Now = o.Now.Add(time.Duration(off) * time.Second)
	return o
}

// restarted is a look of a fence that has begun so many seconds after noon.
func (o Observation) restarted(began int) Observation {
	o.Uptime -= time.Duration(began) * time.Second
	return o
}

func TestWhenALeaseHasRunOut(t *testing.T) {
	for _, c := range []struct {
		name  string
		looks []Observation
		want  Reason
	}{
		{"not right after its renewal", []Observation{at(0, 0)}, LeaseHolds},
		{"not a moment before its end", []Observation{at(0, 0), at(39, 0)}, LeaseHolds},
		{"at its end", []Observation{at(0, 0), at(40, 0)}, LeaseExpired},
		{"not when it was renewed in time", []Observation{at(0, 0), at(30, 30), at(60, 30)}, LeaseHolds},
		{"nor when it was renewed late", []Observation{at(0, 0), at(50, 0), at(60, 60)}, LeaseHolds},
		{"at once for a fence that begins after its end", []Observation{at(100, 0).restarted(100)}, LeaseExpired},
		{"not for a fence that begins before its end", []Observation{at(30, 0).restarted(30)}, LeaseHolds},
		{"when there is none for a while", []Observation{at(0), at(40)}, LeaseMissing},
		{"not when there is none at the beginning", []Observation{at(0), at(39)}, LeaseAwaited},
		{"not when the first one comes late", []Observation{at(0), at(40), at(41, 41)}, LeaseHolds},
		{"not when it is deleted before its end", []Observation{at(0, 0), at(39)}, LeaseHolds},
		{"at its end when it is deleted", []Observation{at(0, 0), at(40)}, LeaseExpired},
		{"by the other clock if the hub's is ahead", []Observation{at(0, 600), at(39, 600)}, LeaseHolds},
		{"within its duration if the hub's clock is ahead", []Observation{at(0, 600), at(40, 600)}, LeaseNotRenewed},
		{"early if the worker's clock is ahead", []Observation{at(0, 0).clock(15), at(25, 0).clock(15)}, LeaseExpired},
		{"on time if the worker's clock is behind", []Observation{at(0, 0).clock(-15), at(40, 0).clock(-15)}, LeaseNotRenewed},
		{"on time if the worker's clock is set backwards", []Observation{at(0, 0), at(20, 0).clock(-3600), at(40, 0).clock(-3600)}, LeaseNotRenewed},
		{"for good though the worker's clock is set backwards", []Observation{at(0, 0), at(40, 0), at(41, 0).clock(-3600)}, LeaseExpired},
		{"if the worker's clock is set forwards", []Observation{at(0, 0), at(1, 0).clock(3600)}, LeaseExpired},
		{"not when the hub renews with an older time", []Observation{at(0, 0), at(10, -5), at(34, -5)}, LeaseHolds},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			for _, look := range c.looks {
				s = Step(s, look).Next
			}
			out := c.want != LeaseHolds && c.want != LeaseAwaited
			if s.Reason != c.want || s.Expired != out || (s.Message("h") != "") != out {
				t.Errorf("got %s, out %v, message %q", s.Reason, s.Expired, s.Message("h"))
			}
		})
	}
}

func TestALeaseThatDoesNotSayHowLongItHolds(t *testing.T) {
	for seconds, want := range map[int]Reason{39: LeaseHolds, 40: LeaseExpired} {
		o := at(seconds, 0)
		o.Lease.Duration = 0
		if got := Step(State{}, o).Next.Reason; got != want {
			t.Errorf("after %d s: %s", seconds, got)
		}
	}
}

func TestWhichJobsAreStopped(t *testing.T) {
	jobs := []Workload{
		{Name: "waiting", Stop: true},
		{Name: "running", Stop: true, HasQuota: true},
		{Name: "another", Namespace: "b", Stop: true, HasQuota: true},
		{Name: "kept", HasQuota: true},
		{Name: "finished", Stop: true, HasQuota: true, Finished: true},
		{Name: "leaving", Stop: true, HasQuota: true, Stopping: true},
	}
	out, holds := at(40, 0), at(39, 0)
	out.Workloads, holds.Workloads = jobs, jobs
	var got []string
	for _, job := range Step(State{}, out).Stop {
		got = append(got, job.Name)
	}
	if diff := cmp.Diff([]string{"running", "another", "waiting"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if stop := Step(State{}, holds).Stop; len(stop) > 0 {
		t.Errorf("stops %v while the lease holds", stop)
	}
}

func TestWhenToLookAgain(t *testing.T) {
	stop := at(40, 0)
	stop.Workloads = []Workload{{Name: "j", Stop: true}}
	for _, c := range []struct {
		name string
		s    State
		o    Observation
		want time.Duration // after the look; 0 for never
	}{
		{"before long while the lease holds", State{}, at(0, 0), CheckInterval},
		{"at its end when that is near", State{}, at(37, 0), 3 * time.Second},
		{"at its end by the other clock", Step(State{}, at(0, 600)).Next, at(38, 600), 2 * time.Second},
		{"when a missing lease has been waited for", State{}, at(36), 4 * time.Second},
		{"before long when jobs are to be stopped", State{}, stop, CheckInterval},
		{"never when there is nothing to stop", State{}, at(40, 0), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Step(c.s, c.o).RequeueAt
			if c.want == 0 && !got.IsZero() || c.want > 0 && got.Sub(c.o.Now) != c.want {
				t.Errorf("looks again at %v, after %v", got, got.Sub(c.o.Now))
			}
		})
	}
}

func TestTheMessageNamesTheHubAndTheTime(t *testing.T) {
	got := Step(State{}, at(40, 0)).Next.Message("eu")
	if !strings.Contains(got, `"eu"`) || !strings.Contains(got, "2026-01-01T12:00:40Z") {
		t.Errorf("got %q", got)
	}
}
