package fence

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pods are those of a suspended job, in truth.
type pods struct {
	name string
	// told is when the job was suspended, ended when its controller, if it works, ends the pods.
	told, ends time.Duration
	removed    bool
}

// plant is a random story of a cluster, its Job controller and the fence that watches it.
type plant struct {
	rng  *rand.Rand
	yard *yard
	jobs []*pods
	// dead is since when the controller does nothing; negative while it works.
	dead time.Duration
	made int
}

func newPlant(seed uint64) *plant {
	return &plant{rng: rand.New(rand.NewPCG(seed, 3)), yard: &yard{removed: map[string]bool{}}, dead: -1}
}

// happen lets up to ten seconds pass, as between two looks, and one thing happen. Only a plant that may break does.
func (p *plant) happen(breaks bool) {
	y := p.yard
	y.uptime += time.Duration(p.rng.IntN(10)+1) * time.Second
	switch n := p.rng.IntN(12); {
	case n < 4:
		p.made++
		takes := time.Duration(p.rng.IntN(20)+1) * time.Second
		p.jobs = append(p.jobs, &pods{name: fmt.Sprint("j", p.made), told: y.uptime, ends: y.uptime + takes})
	case n == 4 && breaks && p.dead < 0:
		p.dead = y.uptime
	case n == 5 && p.dead >= 0:
		p.dead = -1
		for _, job := range p.jobs {
			job.ends = max(job.ends, y.uptime+time.Second)
		}
	case n == 6 && len(p.jobs) > 0 && p.rng.IntN(3) == 0:
		job := p.jobs[p.rng.IntN(len(p.jobs))]
		job.removed, y.removed[job.name] = true, true
	}
	p.work()
}

// work has the controller end what it was to end by now.
func (p *plant) work() {
	y := p.yard
	var left []*pods
	y.waits = nil
	for _, job := range p.jobs {
		if job.ends <= y.uptime && (p.dead < 0 || job.ends < p.dead) {
			if !job.removed { // what it does for a job that is gone nobody sees
				y.acted = max(y.acted, job.ends)
			}
			continue
		}
		left = append(left, job)
		if !job.removed {
			y.waits = append(y.waits, waits(job.name, PodsTold))
		}
	}
	p.jobs = left
}

func FuzzAFenceDoesNotPromiseWhatItsControllersDoNotDo(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newPlant(seed)
		broken := map[string]bool{} // jobs for which it was in trouble
		for range 200 {
			p.happen(true)
			trouble := p.yard.look()
			if again := p.yard.look(); again != trouble {
				t.Fatalf("seed %d: says %q, and looking again %q", seed, trouble, again)
			}
			for _, job := range p.jobs {
				since := p.yard.uptime - job.told
				if !job.removed && since > stopLimit+10*time.Second {
					broken[job.name] = true
				}
				// A look sees it within ten seconds of the beginning, and from then on.
				if broken[job.name] && p.dead >= 0 && p.yard.acted < p.dead && trouble == "" {
					t.Fatalf("seed %d: promises though %+v runs %v after it was told to end", seed, *job, since)
				}
			}
		}
	})
}

func FuzzAFenceWhoseControllersActKeepsItsPromise(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newPlant(seed)
		for range 200 {
			p.happen(false)
			if trouble := p.yard.look(); trouble != "" {
				t.Fatalf("seed %d, at %v: %q", seed, p.yard.uptime, trouble)
			}
			if waiting := len(p.yard.promise.Since); waiting != len(p.yard.waits) {
				t.Fatalf("seed %d: remembers %d waits of %d", seed, waiting, len(p.yard.waits))
			}
		}
	})
}

func FuzzLookingAgainChangesNothing(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newPlant(seed)
		for range 100 {
			p.happen(true)
			p.yard.look()
			before := p.yard.promise
			if p.yard.look(); !cmp.Equal(before, p.yard.promise) {
				t.Fatalf("seed %d:\n%s", seed, cmp.Diff(before, p.yard.promise))
			}
		}
	})
}
