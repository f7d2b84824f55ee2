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
	"switchyard.dev/config/samples"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// Each worker has operators of its own, so that most kinds run on one of them only.
var (
	operatorsOfW1 = []clusters.Operator{clusters.Trainer, clusters.TrainingOperator, clusters.MPIOperator}
	operatorsOfW2 = []clusters.Operator{clusters.JobSet, clusters.KubeRay, clusters.AppWrapper}
)

// playedEnds select the pods that no annotation of the sample ends, by the name of the sample.
var playedEnds = map[string]string{"trainjob": "", "rayjob": "batch.kubernetes.io/job-name"}

// withAllKinds enables every kind that a hub can dispatch, with its operator on one of the workers.
func withAllKinds(o *installation.StageOptions) {
	o.Hub.Operators = nil
	o.Hub.OperatorCRDs = slices.Concat(operatorsOfW1, operatorsOfW2)
	o.Workers[0].Operators, o.Workers[1].Operators = operatorsOfW1, operatorsOfW2
	o.Kinds = installation.MirrorableKinds()
	o.Configuration = maps.Clone(o.Configuration)
	o.Configuration["integrations"] = installation.Frameworks(o.Kinds)
}

// kindRun is a sample on its way.
type kindRun struct {
	job *unstructured.Unstructured
	// ends selects pods to end; it is nil for those that end by themselves.
	ends labels.Selector
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
	fmt.Fprintf(out, "\nEvery job ran on one worker, by the kind's own operator, and nothing is left on any worker: %.1f s.\n", time.Since(s.began).Seconds())
	return nil
}

func (s *kindsShow) submit(ctx context.Context) error {
	for _, kind := range installation.MirrorableKinds() {
		file := strings.ToLower(kind.GVK().Kind)
		directory := "kinds/"
		if file == "job" || file == "jobset" {
			directory = "jobs/"
		}
		objects, err := samples.Objects(directory + file + ".yaml")
		if err != nil {
			return err
		}
		run := &kindRun{job: objects[len(objects)-1], ran: map[string]bool{}}
		if selector, played := playedEnds[file]; played {
			if run.ends, err = labels.Parse(selector); err != nil {
				return fmt.Errorf("pods of %s: %w", file, err)
			}
		}
		if err := s.stage.Hub.Create(ctx, run.job); err != nil {
			return fmt.Errorf("submit %s: %w", file, err)
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
		over := 0
		for _, run := range s.runs {
			if err := s.look(ctx, run); err != nil {
				return fmt.Errorf("%s %s: %w", run.job.GetKind(), run.job.GetName(), err)
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
			names = append(names, fmt.Sprintf("%s %s: %s", run.job.GetKind(), run.job.GetName(), run.shown))
		}
	}
	return fmt.Errorf("%w; not over are\n  %s", err, strings.Join(names, "\n  "))
}

// look prints what is new of a job. One that has no end of its own is deleted once it runs.
func (s *kindsShow) look(ctx context.Context, run *kindRun) error {
	if run.over {
		return nil
	}
	wl, err := s.workloadOf(ctx, run.job)
	if err != nil || wl == nil {
		return err
	}
	pods, err := s.pods(ctx, run)
	if err != nil {
		return err
	}
	if finished := meta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished); finished != nil && finished.Status == metav1.ConditionTrue {
		run.over = true
		s.print(run, "has ended: "+finished.Reason)
		return nil
	}
	switch wanted := countPods(wl); {
	case wl.Status.ClusterName == nil:
		s.print(run, "waits for a worker")
	case len(pods) == 0 && len(run.ran) == 0:
		s.print(run, "was admitted on "+*wl.Status.ClusterName)
	case len(pods) >= wanted:
		s.print(run, fmt.Sprintf("runs on %s (pods: %d)", *wl.Status.ClusterName, len(pods)))
		return s.end(ctx, run, pods)
	}
	return nil
}

// end lets a running job end: those that serve are deleted, and of others the pods that are played.
func (s *kindsShow) end(ctx context.Context, run *kindRun, pods []runningPod) error {
	if kind := run.job.GetKind(); kind == "RayCluster" || kind == "RayService" {
		run.over = true
		s.print(run, "serves until it is deleted, and is deleted")
		return s.stage.Hub.Delete(ctx, run.job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if run.ends == nil {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+clusters.RunForAnnotation+`":"2s"}}}`))
	for _, pod := range pods {
		if _, told := pod.Annotations[clusters.RunForAnnotation]; !told && run.ends.Matches(labels.Set(pod.Labels)) {
			if err := client.IgnoreNotFound(pod.at.Patch(ctx, pod.Pod, patch)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *kindsShow) print(run *kindRun, line string) {
	if run.shown != line {
		fmt.Fprintf(s.out, "%6.1f s  %-12s %-11s %s\n", time.Since(s.began).Seconds(), run.job.GetKind(), run.job.GetName(), line)
		run.shown = line
	}
}

// workloadOf is the hub's Workload of a job, nil if there is none.
func (s *kindsShow) workloadOf(ctx context.Context, of *unstructured.Unstructured) (*kueue.Workload, error) {
	var list kueue.WorkloadList
	if err := s.stage.Hub.List(ctx, &list, client.InNamespace(of.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], of) {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// runningPod is a pod and where it runs.
type runningPod struct {
	*corev1.Pod
	at *installation.Site
}

// pods are the job's running pods on all workers. Their names begin with the job's, as every operator has it.
func (s *kindsShow) pods(ctx context.Context, run *kindRun) ([]runningPod, error) {
	var running []runningPod
	for _, worker := range s.stage.Workers {
		var list corev1.PodList
		if err := worker.List(ctx, &list, client.InNamespace(run.job.GetNamespace())); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if pod := &list.Items[i]; strings.HasPrefix(pod.Name, run.job.GetName()+"-") && pod.Status.Phase == corev1.PodRunning {
				run.ran[worker.Name] = true
				running = append(running, runningPod{Pod: pod, at: worker})
			}
		}
	}
	return running, nil
}

func countPods(wl *kueue.Workload) int {
	count := 0
	for i := range wl.Spec.PodSets {
		count += int(wl.Spec.PodSets[i].Count)
	}
	return count
}

// wrong names the jobs that did not run on exactly one worker.
func (s *kindsShow) wrong() []string {
	var problems []string
	for _, run := range s.runs {
		if len(run.ran) != 1 {
			problems = append(problems, fmt.Sprintf("%s %s ran on %v", run.job.GetKind(), run.job.GetName(), slices.Sorted(maps.Keys(run.ran))))
		}
	}
	return problems
}
