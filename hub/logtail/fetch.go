package logtail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"switchyard.dev/admissioncheck/multikueue/hubworkload"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/hub/logtail/kept"
)

const (
	// maxPods is of how many pods of a job logs are read, maxContainers of how many containers.
	maxPods       = 20
	maxContainers = 60
	// maxLines is how many lines a worker is asked for, maxRead how many bytes of them are read, to keep the last kept.MaxLog.
	maxLines = 2000
	maxRead  = 64 << 20
	// chunk is how much is read at a time.
	chunk = 32 << 10
)

// workers is what is asked of the workers; access.Pods is one.
type workers interface {
	List(ctx context.Context, wl *kueue.Workload, selector fields.Selector, limit int, wanted func(*corev1.Pod) bool) ([]corev1.Pod, error)
	OpenLog(ctx context.Context, wl *kueue.Workload, pod, container string, lines int) (io.ReadCloser, error)
}

// fetcher fetches how the logs of a job end.
type fetcher struct {
	workers workers
	// perJob and perContainer are how long a job, and a container of it, may take.
	perJob, perContainer time.Duration
}

// fetch returns how the logs of a Workload's failed pods end; nil if there are none. An error says that nothing could be read.
func (f fetcher) fetch(ctx context.Context, wl *kueue.Workload, finishedAt time.Time) (*kept.Tail, error) {
	ctx, cancel := context.WithTimeout(ctx, f.perJob)
	defer cancel()
	pods, err := f.failedPods(ctx, wl)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	t := &kept.Tail{
		Namespace: wl.Namespace, Workload: wl.Name, UID: wl.UID, Job: JobOf(wl), Cluster: ptr.Deref(wl.Status.ClusterName, ""), FinishedAt: finishedAt,
	}
	if len(pods) > maxPods {
		pods = pods[:maxPods]
		t.LeftOut = append(t.LeftOut, fmt.Sprintf("all pods but %d", maxPods))
	}
	var failures []error
	count := 0
	for i := range pods {
		for _, c := range containersOf(&pods[i]) {
			if count++; count > maxContainers {
				t.LeaveOut(pods[i].Name, c.Name, errTooMany)
				continue
			}
			if err := f.fetchOne(ctx, wl, t, pods[i].Name, c); err != nil {
				t.LeaveOut(pods[i].Name, c.Name, err)
				failures = append(failures, err)
			}
		}
	}
	switch {
	case len(t.Entries) > 0:
		return t, nil
	case len(failures) > 0:
		return nil, failures[0]
	}
	return nil, nil
}

// errTooMany says why no more containers are looked at.
var errTooMany = fmt.Errorf("%d containers are enough", maxContainers)

// failedPods are those of a Workload that have failed or, if there are none, those that run on though a container of theirs has.
func (f fetcher) failedPods(ctx context.Context, wl *kueue.Workload) ([]corev1.Pod, error) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodRunning} {
		selector := fields.OneTermEqualSelector("status.phase", string(phase))
		pods, err := f.workers.List(ctx, wl, selector, maxPods+1, hasFailed)
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		if len(pods) > 0 {
			return pods, nil
		}
	}
	return nil, nil
}

func hasFailed(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || slices.ContainsFunc(containersOf(p), func(c corev1.ContainerStatus) bool {
		code := exitCode(&c)
		return code != nil && *code != 0
	})
}

// containersOf are the containers of a pod that have been started, in the order of their start.
func containersOf(p *corev1.Pod) []corev1.ContainerStatus {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
	return slices.DeleteFunc(all, func(c corev1.ContainerStatus) bool {
		return len(validation.IsDNS1123Label(c.Name)) > 0 || c.State.Running == nil && exitCode(&c) == nil
	})
}

// exitCode is that with which a container has ended, or has ended the last time; nil if it never has.
func exitCode(c *corev1.ContainerStatus) *int32 {
	switch {
	case c.State.Terminated != nil:
		return &c.State.Terminated.ExitCode
	case c.LastTerminationState.Terminated != nil:
		return &c.LastTerminationState.Terminated.ExitCode
	}
	return nil
}

// fetchOne adds the end of one container's log.
func (f fetcher) fetchOne(ctx context.Context, wl *kueue.Workload, t *kept.Tail, pod string, c corev1.ContainerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, f.perContainer)
	defer cancel()
	body, err := f.workers.OpenLog(ctx, wl, pod, c.Name, maxLines)
	if err != nil {
		return err
	}
	defer body.Close()
	end := &ring{}
	read, err := io.CopyBuffer(end, io.LimitReader(body, maxRead), make([]byte, chunk))
	if err == nil {
		err = ctx.Err() // a worker that is told to stop may end its answer as if that were all
	}
	e := kept.Entry{Pod: pod, Container: c.Name, ExitCode: exitCode(&c), Cut: end.cut()}
	switch {
	case err != nil && read == 0:
		return fmt.Errorf("the log does not come: %w", plain(err))
	case err != nil:
		e.Incomplete = plain(err).Error()
	case read == maxRead:
		e.Incomplete = fmt.Sprintf("its last %d lines have more than %d bytes", maxLines, maxRead)
	}
	return t.Add(e, end.text())
}

// plain is an error of a connection in words that have nothing of the worker's.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errTooSlow
	}
	return errBroken
}

var (
	errTooSlow = errors.New("the cluster was too slow")
	errBroken  = errors.New("the connection broke")
)

// JobOf names the job of a Workload; the Workload itself if it has none.
func JobOf(wl *kueue.Workload) kept.Job {
	owner, ok := hubworkload.LookupOwner(wl)
	if !ok {
		return kept.Job{Kind: "Workload." + kueue.GroupVersion.Group, Name: wl.Name}
	}
	return kept.Job{Kind: strings.TrimSuffix(owner.GVK.Kind+"."+owner.GVK.Group, "."), Name: owner.Name}
}
