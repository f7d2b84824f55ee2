package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// playedEnds select the pods that no annotation of the sample ends, by the kind.
var playedEnds = map[string]string{"TrainJob": "", "RayJob": "batch.kubernetes.io/job-name", "pod group": "", "PipelineRun": ""}

// kindRun is a sample on its way.
type kindRun struct {
	kind, name string
	objects    []*unstructured.Unstructured
	// serves tells that it has no end of its own.
	serves bool
	// shown is the line that was printed last, and ran names the workers on which pods of it were seen.
	shown string
	ran   map[string]bool
	over  bool
}

// kindsShow submits one job of each kind and follows it.
type kindsShow struct {
	stage *installation.Stage
	out   io.Writer
	began time.Time
	runs  []*kindRun
}

// showKinds submits one job of each kind to the hub, prints what becomes of it, and checks that it ran on one worker.
func showKinds(ctx context.Context, o options, stage *installation.Stage, out io.Writer) error {
	s := &kindsShow{stage: stage, out: out, began: time.Now()}
	if err := installation.CopyTrainingRuntimes(ctx, stage.Hub, stage.Workers[0]); err != nil {
		return err
	}
	if err := declareKinds(ctx, stage); err != nil {
		return err
	}
	if err := s.submit(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "submitted one job of each of %d kinds, from config/samples, to queues of the hub\n\n", len(s.runs))
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if err := s.follow(ctx); err != nil {
		return err
	}
	left, err := waitEmpty(ctx, stage)
	if err != nil {
		return err
	}
	if problems := append(s.wrong(), left...); len(problems) > 0 {
		return errors.New("not all went as it should:\n  " + strings.Join(problems, "\n  "))
	}
	fmt.Fprintf(out, "\nEvery job ran on one worker (of the Deployment each pod), by the kind's own controller, and nothing is left on any worker: %.1f s.\n", time.Since(s.began).Seconds())
	return nil
}

func (s *kindsShow) submit(ctx context.Context) error {
	for _, file := range kindSamples() {
		run, err := newKindRun(file)
		if err != nil {
			return err
		}
		for _, object := range run.objects {
			if err := s.stage.Hub.Create(ctx, object); err != nil {
				return fmt.Errorf("submit %s: %w", file, err)
			}
		}
		s.runs = append(s.runs, run)
	}
	return nil
}

// follow returns when all jobs are over.
func (s *kindsShow) follow(ctx context.Context) error {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		seen, err := s.observe(ctx)
		if err != nil {
			return err
		}
		over := 0
		for _, run := range s.runs {
			if err := s.look(ctx, run, seen); err != nil {
				return fmt.Errorf("%s %s: %w", run.kind, run.name, err)
			}
			if run.over {
				over++
			}
		}
		if over == len(s.runs) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s.late(ctx.Err())
		}
	}
}

// late says which jobs are not over.
func (s *kindsShow) late(err error) error {
	var names []string
	for _, run := range s.runs {
		if !run.over {
			names = append(names, fmt.Sprintf("%s %s: %s", run.kind, run.name, run.shown))
		}
	}
	return fmt.Errorf("%w; not over are\n  %s", err, strings.Join(names, "\n  "))
}

// look prints what is new of a job. One that has no end of its own is deleted once it runs.
func (s *kindsShow) look(ctx context.Context, run *kindRun, seen snapshot) error {
	wls, pods := seen.workloadsOf(run), seen.podsOf(run)
	if run.over || len(wls) == 0 {
		return nil
	}
	for _, pod := range pods {
		run.ran[pod.at.Name] = true
	}
	wanted, at := 0, map[string]bool{}
	var finished, waiting int
	reason := ""
	for _, wl := range wls {
		wanted += countPods(wl)
		if c := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); c != nil && c.Status == metav1.ConditionTrue {
			reason = c.Reason
			finished++
		}
		if wl.Status.ClusterName == nil {
			waiting++
		} else {
			at[*wl.Status.ClusterName] = true
		}
	}
	where := strings.Join(slices.Sorted(maps.Keys(at)), " and ")
	switch {
	case finished == len(wls):
		run.over = true
		s.print(run, "has ended: "+reason)
	case waiting > 0:
		s.print(run, "waits for a worker")
	case len(pods) == 0 && len(run.ran) == 0:
		s.print(run, "was admitted on "+where)
	case len(pods) >= wanted:
		s.print(run, fmt.Sprintf("runs on %s (pods: %d)", where, len(pods)))
		return s.end(ctx, run, pods)
	}
	return nil
}

// end lets a running job end: those that serve are deleted, and of others the pods that are played.
func (s *kindsShow) end(ctx context.Context, run *kindRun, pods []runningPod) error {
	if run.serves {
		run.over = true
		s.print(run, "serves until it is deleted, and is deleted")
		return s.stage.Hub.Delete(ctx, run.objects[0], client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	selector, played := playedEnds[run.kind]
	if !played {
		return nil
	}
	ends, err := labels.Parse(selector)
	if err != nil {
		return fmt.Errorf("pods of a %s that end: %w", run.kind, err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+clusters.RunForAnnotation+`":"2s"}}}`))
	for _, pod := range pods {
		if _, told := pod.Annotations[clusters.RunForAnnotation]; !told && ends.Matches(labels.Set(pod.Labels)) {
			if err := client.IgnoreNotFound(pod.at.Patch(ctx, pod.Pod, patch)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *kindsShow) print(run *kindRun, line string) {
	if run.shown != line {
		fmt.Fprintf(s.out, "%6.1f s  %-15s %-11s %s\n", time.Since(s.began).Seconds(), run.kind, run.name, line)
		run.shown = line
	}
}

// snapshot is what there was at one time.
type snapshot struct {
	// workloads are the hub's.
	workloads []kueue.Workload
	// pods run on the workers.
	pods []runningPod
}

// runningPod is a pod and where it runs.
type runningPod struct {
	*corev1.Pod
	at *installation.Site
}

func (s *kindsShow) observe(ctx context.Context) (snapshot, error) {
	var workloads kueue.WorkloadList
	if err := s.stage.Hub.List(ctx, &workloads); err != nil {
		return snapshot{}, fmt.Errorf("list Workloads of the hub: %w", err)
	}
	seen := snapshot{workloads: workloads.Items}
	for _, worker := range s.stage.Workers {
		var pods corev1.PodList
		if err := worker.List(ctx, &pods); err != nil {
			return snapshot{}, fmt.Errorf("list pods of %s: %w", worker.Name, err)
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				seen.pods = append(seen.pods, runningPod{Pod: &pods.Items[i], at: worker})
			}
		}
	}
	return seen, nil
}

// workloadsOf are the Workloads of a job: one as a rule, of a Deployment one for each pod, of a LeaderWorkerSet one for each group.
func (s snapshot) workloadsOf(run *kindRun) []*kueue.Workload {
	var found []*kueue.Workload
	for i := range s.workloads {
		wl := &s.workloads[i]
		owned := slices.ContainsFunc(wl.OwnerReferences, func(owner metav1.OwnerReference) bool { return run.owns(wl.Namespace, owner.Name) })
		if owned {
			found = append(found, wl)
		}
	}
	return found
}

// podsOf are the running pods of a job.
func (s snapshot) podsOf(run *kindRun) []runningPod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(pod runningPod) bool { return !run.owns(pod.Namespace, pod.Name) })
}

// owns tells whether an object that was made for the job may have that name: the job's own, or one that begins with it.
func (r *kindRun) owns(namespace, name string) bool {
	return namespace == r.objects[0].GetNamespace() && (name == r.name || strings.HasPrefix(name, r.name+"-"))
}

func countPods(wl *kueue.Workload) int {
	count := 0
	for i := range wl.Spec.PodSets {
		count += int(wl.Spec.PodSets[i].Count)
	}
	return count
}

// wrong names the jobs that did not run on exactly one worker. Pods of a Deployment run where each of them fits.
func (s *kindsShow) wrong() []string {
	var problems []string
	for _, run := range s.runs {
		if len(run.ran) == 0 || len(run.ran) > 1 && run.kind != "Deployment" {
			problems = append(problems, fmt.Sprintf("%s %s ran on %v", run.kind, run.name, slices.Sorted(maps.Keys(run.ran))))
		}
	}
	return problems
}
