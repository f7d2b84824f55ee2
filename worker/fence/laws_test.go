package fence

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// life is a random story of a hub, a fence and their clocks, told by the truth.
type life struct {
	rng *rand.Rand
	// truth is the true time since the story began; hubClock and ownClock are how far the clocks are off.
	truth, hubClock, ownClock time.Duration
	// began is when the fence began last.
	began time.Duration
	lease *Lease
	// believed is until when, in truth, the hub must take the worker to believe in its lease.
	believed time.Duration
	state    State
}

const (
	skew     = 20 * time.Second
	duration = 40 * time.Second
)

func (l *life) between(low, high time.Duration) time.Duration {
	return low + time.Duration(l.rng.Int64N(int64(high-low)+1))
}

func (l *life) observation() Observation {
	o := Observation{Now: noon.Add(l.truth + l.ownClock), Uptime: l.truth - l.began, Lease: l.lease}
	for _, name := range []string{"c", "a", "b"} {
		o.Workloads = append(o.Workloads, Workload{
			Name: name, Stop: l.rng.IntN(3) > 0, Finished: l.rng.IntN(5) == 0, Stopping: l.rng.IntN(5) == 0, HasQuota: l.rng.IntN(2) == 0,
		})
	}
	return o
}

// happen lets some time pass and one thing happen.
func (l *life) happen() {
	l.truth += l.between(0, 15*time.Second)
	switch l.rng.IntN(12) {
	case 0, 1, 2, 3, 4:
		l.lease = &Lease{Renewed: noon.Add(l.truth + l.hubClock), Duration: duration}
		l.believed = l.truth + duration
	case 5: // the fence begins anew
		l.began, l.state = l.truth, State{}
	case 6:
		l.ownClock = l.between(-skew/2, skew/2)
	case 7:
		l.hubClock = l.between(-skew/2, skew/2)
	}
}

func FuzzNoJobThatMustStopOutlivesTheHubsBeliefByMoreThanTheSkew(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		l := &life{rng: rand.New(rand.NewPCG(seed, 1))}
		for range 100 {
			l.happen()
			o := l.observation()
			p := Step(l.state, o)
			l.state = p.Next
			stopped := map[string]bool{}
			for _, job := range p.Stop {
				stopped[job.Name] = true
			}
			for _, job := range o.Workloads {
				due := l.lease != nil && l.truth >= l.believed+skew
				if due && job.Stop && !job.Finished && !job.Stopping && !stopped[job.Name] {
					t.Fatalf("seed %d: %+v goes on %v after the hub has given it up", seed, job, l.truth-l.believed)
				}
				if stopped[job.Name] && (!job.Stop || job.Finished || job.Stopping) {
					t.Fatalf("seed %d: %+v is stopped", seed, job)
				}
			}
			if len(p.Stop) > 0 && l.lease != nil && l.truth < l.believed-skew {
				t.Fatalf("seed %d: stops %v before the end of a lease that clocks cannot explain", seed, l.believed-l.truth)
			}
		}
	})
}

func FuzzStepDecidesTheSameAgainAndLooksAgainInTime(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		l := &life{rng: rand.New(rand.NewPCG(seed, 2))}
		for range 100 {
			l.happen()
			o := l.observation()
			p := Step(l.state, o)
			if diff := cmp.Diff(p, Step(p.Next, o)); diff != "" {
				t.Fatalf("seed %d: decides otherwise the second time: -first +second:\n%s", seed, diff)
			}
			due := !p.Next.Expired || len(p.Stop) > 0
			if wait := p.RequeueAt.Sub(o.Now); due == p.RequeueAt.IsZero() || due && (wait <= 0 || wait > CheckInterval) {
				t.Fatalf("seed %d: looks again after %v", seed, wait)
			}
			if !p.Next.Expired { // at the time it asks for, with nothing new, it does not oversleep
				later := o
				later.Now, later.Uptime = p.RequeueAt, o.Uptime+p.RequeueAt.Sub(o.Now)
				if next := Step(p.Next, later); !next.Next.Expired && p.RequeueAt.Sub(o.Now) < CheckInterval {
					t.Fatalf("seed %d: looks again at %v for nothing", seed, p.RequeueAt)
				}
			}
			l.state = p.Next
		}
	})
}
