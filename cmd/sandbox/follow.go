package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

var errNoReason = errors.New("exit status 0")

// follower submits the requests and shows their way.
type follower struct {
	stage    *installation.Stage
	observer *observer
	requests []request
	screen   *screen

	mu        sync.Mutex
	submitted []time.Time // when, of the first requests that were submitted so far
}

// submitJobs creates the jobs one after the other, as users would.
func (f *follower) submitJobs(ctx context.Context) error {
	for _, r := range f.requests {
		object, err := r.buildObject()
		if err != nil {
			return err
		}
		now := time.Now()
		if err := f.stage.Hub.Create(ctx, object); err != nil {
			return fmt.Errorf("submitting %s: %w", r.title(), err)
		}
		f.mu.Lock()
		f.submitted = append(f.submitted, now)
		f.mu.Unlock()
	}
	return nil
}

// run submits the jobs and returns the last rows when every one has ended; an error if that takes longer than the
// timeout or a program has ended, with what each unfinished job waits for.
func (f *follower) run(ctx context.Context, timeout time.Duration) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	submitting := make(chan error, 1)
	go func() { submitting <- f.submitJobs(ctx) }()
	rows, err := f.watchUntilDone(ctx, timeout, submitting)
	cancel()
	return rows, err
}

func (f *follower) watchUntilDone(ctx context.Context, timeout time.Duration, submitting <-chan error) ([]row, error) {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		rows, err := f.refresh(ctx)
		if err != nil {
			return nil, err
		}
		f.screen.show(rows, time.Now())
		if len(rows) == len(f.requests) && allFinished(rows) {
			return rows, nil
		}
		select {
		case err := <-submitting:
			if err != nil {
				return nil, err
			}
			submitting = nil
		case <-ticker.C:
		case <-deadline.C:
			lines := append(unfinished(rows), listInactive(ctx, f.stage)...)
			return nil, fmt.Errorf("not all jobs ended within %s:\n  %s", timeout, strings.Join(lines, "\n  "))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refresh returns the rows of what was submitted so far, or an error if a program has ended.
func (f *follower) refresh(ctx context.Context) ([]row, error) {
	for _, site := range f.stage.Sites() {
		if ended, err := site.Program.Ended(); ended {
			return nil, fmt.Errorf("the program beside cluster %s has ended (%w)\n%s", site.Name, cmp.Or(err, errNoReason), site.Program.LogTail())
		}
	}
	f.mu.Lock()
	n := len(f.submitted)
	f.mu.Unlock()
	return f.observer.rows(ctx, f.requests[:n])
}

func allFinished(rows []row) bool {
	for _, r := range rows {
		if !r.State.done() {
			return false
		}
	}
	return true
}

func unfinished(rows []row) []string {
	var lines []string
	for _, r := range rows {
		if !r.State.done() {
			lines = append(lines, fmt.Sprintf("%s is %s, cluster %q, pods %d/%d: %s", r.title(), r.State, r.Cluster, r.Up, r.allPods(), r.Why))
		}
	}
	return lines
}

// isWaiting are the times from submission to the first running pod, of the jobs that ran.
func (f *follower) isWaiting() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var waits []time.Duration
	for i, r := range f.requests[:len(f.submitted)] {
		if at, ok := f.observer.firstRunning(r); ok {
			waits = append(waits, at.Sub(f.submitted[i]))
		}
	}
	return waits
}

// waitEmpty waits until no worker holds anything of the hub's; it says what is still there after a minute.
func waitEmpty(ctx context.Context, stage *installation.Stage) ([]string, error) {
	deadline := time.Now().Add(cleanTimeout)
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		left, err := leftovers(ctx, stage)
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// leftovers reads from the API servers, not from caches. Only the hub puts anything on these workers, so that all that is
// there is the hub's, with its label or without.
func leftovers(ctx context.Context, stage *installation.Stage) ([]string, error) {
	var left []string
	for _, worker := range stage.Workers {
		for kind, list := range map[string]client.ObjectList{
			"Workload": &kueue.WorkloadList{}, "Job": &batchv1.JobList{}, "JobSet": &jobset.JobSetList{}, "Pod": &corev1.PodList{},
		} {
			names, err := jobNames(ctx, worker, list)
			if err != nil {
				return nil, fmt.Errorf("looking for what is left on %s: %w", worker.Name, err)
			}
			for _, name := range names {
				left = append(left, fmt.Sprintf("left on %s: %s %s", worker.Name, kind, name))
			}
		}
	}
	return left, nil
}

func jobNames(ctx context.Context, site *installation.Site, list client.ObjectList) ([]string, error) {
	if err := site.List(ctx, list); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			return nil, err
		}
		names = append(names, object.GetNamespace()+"/"+object.GetName())
	}
	return names, nil
}
