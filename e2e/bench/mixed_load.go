package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// mixed are jobs of several kinds, which their reconcilers have to make Workloads of. Their queues count pods, as the kinds' examples ask for
// nothing else.
func mixed() load {
	l := load{name: mixName, cohorts: 2, queues: 3}
	for _, k := range mixedKinds() {
		pods := k.pods
		if k.operator == "" {
			pods = 1 // see submitted
		}
		l.classes = append(l.classes, workloadClass{
			name: strings.ToLower(k.GVK().Kind), count: 60, cpu: pods, run: 200 * time.Millisecond, every: 100 * time.Millisecond, kind: &k,
		})
	}
	return l
}

// isMixed tells whether jobs are submitted, not Workloads.
func (l load) isMixed() bool { return len(l.kinds()) > 0 }

// kinds are those of the jobs.
func (l load) kinds() []mixedKind {
	var kinds []mixedKind
	for _, c := range l.classes {
		if c.kind != nil {
			kinds = append(kinds, *c.kind)
		}
	}
	return kinds
}

// countingPods is a queue that has a number of pods, borrows more, and takes none back.
func countingPods(name, cohort string) *kueue.ClusterQueue {
	cq := contended(name, cohort)
	cq.Spec.Preemption = nil
	group := &cq.Spec.ResourceGroups[0]
	group.CoveredResources[0], group.Flavors[0].Resources[0].Name = "pods", "pods"
	group.Flavors[0].Resources[0].BorrowingLimit = resource.NewQuantity(borrowing, resource.DecimalSI)
	return cq
}

// submitted is a job as a user submits it on the cluster where it runs.
func (k mixedKind) submitted(name, queue string) client.Object {
	if k.operator != "" {
		return k.queued(name, queue)
	}
	j := queuedJob(name, queue, 1)
	j.Spec.ManagedBy = nil
	j.Spec.Template.Spec.Containers[0].Resources.Requests = nil
	return j
}

// submittedName is the name under which a Workload, or the job that it is of, was submitted.
func submittedName(wl *kueue.Workload) string {
	if owner := metav1.GetControllerOf(wl); owner != nil {
		return owner.Name
	}
	return wl.Name
}

// run plays the controller of a job that has been admitted, to its end, as soon as it is resumed.
func (k mixedKind) run(ctx context.Context, c client.Client, name string) error {
	resumed := func(ctx context.Context) (bool, error) {
		o := k.New()
		err := c.Get(ctx, client.ObjectKey{Namespace: team, Name: name}, o)
		return err == nil && !k.suspended(o), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, resumed); err != nil {
		return fmt.Errorf("%s %s is not resumed: %w", k.GVK().Kind, name, err)
	}
	if k.GVK().GroupKind() == batchv1.SchemeGroupVersion.WithKind("Job").GroupKind() {
		return errors.Join(playJob(ctx, c, name, false, false), playJob(ctx, c, name, true, true))
	}
	return errors.Join(k.playStatus(ctx, c, name, false), k.playStatus(ctx, c, name, true))
}
