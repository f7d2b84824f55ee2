package integration

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// creation is an object that came into being on a worker.
type creation struct {
	worker string
	at     time.Time
}

// creationsOf lists, the earliest first, where objects of that resource were made for a job, by the API servers' audit logs.
func creationsOf(job client.Object, resource, name string) []creation {
	GinkgoHelper()
	var all []creation
	for _, w := range workers {
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			if event.Verb == "create" && ref.Resource == resource && ref.Subresource == "" && ref.Namespace == job.GetNamespace() &&
				strings.HasPrefix(ref.Name, name) && event.ResponseStatus != nil && event.ResponseStatus.Code < 300 {
				all = append(all, creation{worker: w.Name, at: event.RequestReceivedTimestamp.Time})
			}
		}
	}
	slices.SortFunc(all, func(a, b creation) int { return a.at.Compare(b.at) })
	return all
}

// offersOf lists the workers that a job was offered to, in that order.
func offersOf(job *batchv1.Job) []string {
	GinkgoHelper()
	return offersUnder(job, "job-"+job.Name+"-")
}

// offersUnder lists the workers that a job was offered to as a Workload whose name begins so, in that order.
func offersUnder(job client.Object, name string) []string {
	GinkgoHelper()
	var names []string
	for _, offer := range creationsOf(job, "workloads", name) {
		names = append(names, offer.worker)
	}
	return names
}

// copiesOf lists the workers that hold a copy of a job's Workload now.
func copiesOf(ctx context.Context, job *batchv1.Job) ([]string, error) {
	var names []string
	for _, w := range workers {
		copied, err := copyAt(ctx, w, job)
		if err != nil {
			return nil, err
		}
		if copied != nil {
			names = append(names, w.Name)
		}
	}
	return names, nil
}

// copyAt is the copy of a job's Workload at a worker, nil if there is none.
func copyAt(ctx context.Context, w *installation.Site, job client.Object) (*kueue.Workload, error) {
	own, err := workloadOf(ctx, job)
	if err != nil || own == nil {
		return nil, err
	}
	remote := &kueue.Workload{}
	if err := w.Get(ctx, client.ObjectKeyFromObject(own), remote); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return remote, nil
}
