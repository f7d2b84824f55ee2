package integration

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// How long, how fast and with what chance to soak; by default as much as an everyday run can afford.
var (
	soakFor  = flag.Duration("soak", 15*time.Second, "how long the soak test submits jobs and breaks things")
	soakRate = flag.Float64("soak.rate", 2, "jobs a second in the soak test")
	soakSeed = flag.Uint64("soak.seed", 1, "what faults the soak test chooses, where and for how long")
)

// fault is something that breaks and is mended.
type fault struct {
	name        string
	break_, end func(ctx context.Context)
}

// soak is one run: a stream of jobs, and a stream of faults, each chosen by a chance of its own.
type soak struct {
	team   team
	chance *rand.Rand
	// kinds are those of the faults that are still to come before any kind comes again.
	kinds  []int
	faults map[string]int
}

// pause waits, unless the context ends; a soak test is made of time.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// between is a random time.
func (s *soak) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.chance.Int64N(int64(most-least)))
}

// next chooses a fault; every kind once, in random order, then again.
func (s *soak) next() fault {
	if len(s.kinds) == 0 {
		s.kinds = s.chance.Perm(6)
	}
	kind := s.kinds[0]
	s.kinds = s.kinds[1:]
	w := workers[s.chance.IntN(len(workers))]
	pass := func(context.Context) { w.Link.Pass() }
	delay := s.between(50*time.Millisecond, 500*time.Millisecond)
	return []fault{
		restart("the hub", hub.Program),
		restart("the worker's program at "+w.Name, w.Program),
		{"partition " + w.Name, func(context.Context) { w.Link.Partition() }, pass},
		{"black-hole " + w.Name, func(context.Context) { w.Link.BlackHole() }, pass},
		{"slow " + w.Name, func(context.Context) { w.Link.Delay(delay) }, pass},
		{
			"pause the API server of " + w.Name,
			func(context.Context) { Expect(w.PauseAPIServer()).To(Succeed()) },
			func(context.Context) { Expect(w.ResumeAPIServer()).To(Succeed()) },
		},
	}[kind]
}

// restart kills a program and starts it again.
func restart(name string, p *installation.Program) fault {
	return fault{
		"kill " + name,
		func(context.Context) { Expect(p.Kill()).To(Succeed()) },
		func(ctx context.Context) { Expect(p.Start(ctx)).To(Succeed()) },
	}
}

// longest is how long the next fault may last: one in three outlasts the probes, so that the hub loses the cluster. A short soak
// has short faults, so that every kind has its turn.
func (s *soak) longest() time.Duration {
	longest := 5 * time.Second
	if s.chance.IntN(3) == 0 {
		longest = 45 * time.Second
	}
	return min(longest, *soakFor/6)
}

// injectFaults breaks one thing after the other and mends each, until the time is over.
func (s *soak) injectFaults(ctx context.Context, until time.Time) {
	for time.Now().Before(until) {
		longest := s.longest()
		pause(ctx, s.between(longest/10, longest/2))
		f, lasts := s.next(), s.between(longest/10, longest)
		GinkgoWriter.Printf("%s for %s\n", f.name, lasts)
		s.faults[f.name]++
		f.break_(ctx)
		pause(ctx, lasts)
		f.end(ctx)
	}
}

// submit creates jobs at the rate until the time is over and returns their names. A creation that fails is tried again, as
// there is no webhook without a hub; jobs that are late for that come at once.
func (s *soak) submit(ctx context.Context, chance *rand.Rand, until time.Time) []string {
	start, interval := time.Now(), time.Duration(float64(time.Second) / *soakRate)
	var names []string
	for due := start; due.Before(until); due = due.Add(interval) {
		pause(ctx, time.Until(due))
		runs := time.Duration(100+chance.IntN(1500)) * time.Millisecond
		job := s.team.job(fmt.Sprintf("soak-%05d", len(names)), chance.IntN(2), runs.String())
		Eventually(func() error {
			err := hub.Create(ctx, job.DeepCopy())
			if apierrors.IsAlreadyExists(err) {
				return nil // the answer to the try before was lost
			}
			return err
		}).WithContext(ctx).WithTimeout(3 * time.Minute).Should(Succeed())
		names = append(names, job.Name)
	}
	return names
}

// unfinished are the jobs that are not complete on the hub, or whose Workload has not recorded it; at most ten.
func (s *soak) unfinished(ctx context.Context) ([]string, error) {
	jobs, workloads := &batchv1.JobList{}, &kueue.WorkloadList{}
	for _, list := range []client.ObjectList{jobs, workloads} {
		if err := hub.List(ctx, list, client.InNamespace(s.team.name)); err != nil {
			return nil, err
		}
	}
	var names []string
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}) {
			names = append(names, job.Name)
		}
	}
	for i := range workloads.Items {
		wl := &workloads.Items[i]
		if !strings.HasPrefix(condition(wl.Status.Conditions, kueue.WorkloadFinished), "True Succeeded") {
			names = append(names, wl.Name)
		}
	}
	return names[:min(len(names), 10)], nil
}

// podsOf are the pods of each job that any worker let run: that were given a node, or of which a kubelet told. One write of a
// pod may have lost its answer, and with it its line of the audit log.
func podsOf(t team) map[string]map[string]bool {
	GinkgoHelper()
	pods := map[string]map[string]bool{}
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			runs := ref.Resource == "pods" && (ref.Subresource == "binding" || ref.Subresource == "status") && ref.Namespace == t.name
			if !runs || event.ResponseStatus == nil || event.ResponseStatus.Code >= 300 {
				continue
			}
			job := ref.Name[:max(strings.LastIndexByte(ref.Name, '-'), 0)]
			if pods[job] == nil {
				pods[job] = map[string]bool{}
			}
			pods[job][w.Name+"/"+ref.Name] = true
		}
	}
	return pods
}

var _ = Describe("A soak", func() {
	// No worker is away for longer than its grace here, so nothing may ever run twice. API servers are paused, not killed: a
	// killed one may forget a line of its audit log.
	It("with random faults loses no job, runs none twice and leaves nothing", func(ctx SpecContext) {
		otherHub{name: "hub-soak", configuration: runAlone(map[string]any{"workerLostTimeout": "1h"})}.takeOver(ctx)
		s := &soak{team: newTeam(ctx, 16), chance: rand.New(rand.NewPCG(*soakSeed, 1)), faults: map[string]int{}}
		until := time.Now().Add(*soakFor)
		submitted := make(chan []string, 1)
		go func() {
			defer GinkgoRecover()
			defer close(submitted)
			submitted <- s.submit(ctx, rand.New(rand.NewPCG(*soakSeed, 2)), until)
		}()
		s.injectFaults(ctx, until)
		names := <-submitted
		for _, w := range workers {
			restoreLink(ctx, w)
		}
		Eventually(s.unfinished).WithContext(ctx).WithTimeout(5*time.Minute + *soakFor).WithPolling(time.Second).Should(BeEmpty())
		Eventually(leftovers).WithContext(ctx).WithArguments(s.team).WithTimeout(2 * time.Minute).Should(BeEmpty())

		var wrong []string
		created, pods := allCreations(s.team, "jobs"), podsOf(s.team)
		for _, name := range names {
			if created[name] != 1 || len(pods[name]) != 1 {
				wrong = append(wrong, fmt.Sprintf("%s was created %d times and had the pods %v", name, created[name], slices.Sorted(maps.Keys(pods[name]))))
			}
		}
		AddReportEntry("soak", fmt.Sprintf("%d jobs, %.1f a second, seed %d, faults %v",
			len(names), float64(len(names))/soakFor.Seconds(), *soakSeed, s.faults), ReportEntryVisibilityAlways)
		Expect(wrong).To(BeEmpty())
		Expect(slices.Sorted(maps.Keys(created))).To(Equal(names), "what was created is what was submitted")
	}, NodeTimeout(2*time.Hour))
})
