package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podLog is what was seen of a team's pods on the workers, without a gap.
type podLog struct {
	mu sync.Mutex
	// alive are the pods that have neither gone nor ended, by job, each with its worker.
	alive map[string]map[types.UID]string
	// wrong tells of jobs with living pods on two workers at the same time, and of gaps.
	wrong []string
}

// watchPods follows a team's pods on all workers, past the links, until the end of the spec or container that it is
// called in.
func watchPods(t team) *podLog {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &podLog{alive: map[string]map[types.UID]string{}}
	var following sync.WaitGroup
	DeferCleanup(func() {
		cancel()
		following.Wait()
	})
	for _, w := range workers {
		watcher, err := w.Watch(ctx, &corev1.PodList{}, client.InNamespace(t.name))
		Expect(err).NotTo(HaveOccurred())
		following.Go(func() {
			defer watcher.Stop()
			for event := range watcher.ResultChan() {
				s.recordPod(w.Name, event)
			}
			if ctx.Err() == nil {
				s.recordFault("the watch of pods on " + w.Name + " has ended")
			}
		})
	}
	return s
}

func (s *podLog) recordPod(worker string, event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		s.recordFault(fmt.Sprintf("the watch of pods on %s brought %T", worker, event.Object))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	job := pod.Labels[batchv1.JobNameLabel]
	if s.alive[job] == nil {
		s.alive[job] = map[types.UID]string{}
	}
	if event.Type == watch.Deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		delete(s.alive[job], pod.UID)
		return
	}
	s.alive[job][pod.UID] = worker
	for _, other := range s.alive[job] {
		if other != worker {
			s.wrong = append(s.wrong, fmt.Sprintf("job %s has pods on %s and on %s", job, other, worker))
		}
	}
}

func (s *podLog) recordFault(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, text)
}

// listFaults lists what was wrong so far.
func (s *podLog) listFaults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}
