package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// workloadOf returns the Workload of a job on the hub, or nil while there is none.
func workloadOf(ctx context.Context, job client.Object) (*kueue.Workload, error) {
	return workloadAt(ctx, hub, job)
}

// workloadAt returns the Workload of a job at a site, or nil while there is none.
func workloadAt(ctx context.Context, s *installation.Site, job client.Object) (*kueue.Workload, error) {
	list := &kueue.WorkloadList{}
	if err := s.List(ctx, list, client.InNamespace(job.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		owners := list.Items[i].OwnerReferences
		if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == job.GetUID() }) {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// workloadCondition renders a condition of a job's Workload on the hub.
func workloadCondition(ctx context.Context, job client.Object, kind string) (string, error) {
	return workloadConditionAt(ctx, hub, job, kind)
}

// workloadConditionAt renders a condition of a job's Workload at a site.
func workloadConditionAt(ctx context.Context, s *installation.Site, job client.Object, kind string) (string, error) {
	wl, err := workloadAt(ctx, s, job)
	if err != nil || wl == nil {
		return "", err
	}
	return condition(wl.Status.Conditions, kind), nil
}

// clusterOf is the worker that the hub's Workload of a job names, "" while there is none.
func clusterOf(ctx context.Context, job client.Object) (string, error) {
	wl, err := workloadOf(ctx, job)
	if err != nil || wl == nil || wl.Status.ClusterName == nil {
		return "", err
	}
	return *wl.Status.ClusterName, nil
}

// activePodsAt tells how many pods a worker's job of that name has, 0 if there is none.
func activePodsAt(ctx context.Context, w *installation.Site, job *batchv1.Job) (int32, error) {
	now := &batchv1.Job{}
	err := w.Get(ctx, client.ObjectKeyFromObject(job), now)
	return now.Status.Active, client.IgnoreNotFound(err)
}

// checkMessage is what the multikueue check says in the hub's Workload of a job.
func checkMessage(ctx context.Context, job client.Object) (string, error) {
	wl, err := workloadOf(ctx, job)
	if err != nil || wl == nil || len(wl.Status.AdmissionChecks) == 0 {
		return "", err
	}
	return wl.Status.AdmissionChecks[0].Message, nil
}

// complete tells whether the hub's job shows the Complete condition.
func complete(ctx context.Context, job *batchv1.Job) (bool, error) {
	if err := hub.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
		return false, err
	}
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	}), nil
}

func expectComplete(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	Eventually(complete).WithContext(ctx).WithArguments(job).Should(BeTrue(), "job %s/%s completes", job.Namespace, job.Name)
	Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadFinished).
		Should(HavePrefix("True Succeeded"))
}

// expectCompleteOn submits a job and expects it to complete on the worker of that name.
func expectCompleteOn(ctx context.Context, name string, job *batchv1.Job) {
	GinkgoHelper()
	Expect(hub.Create(ctx, job)).To(Succeed())
	expectComplete(ctx, job)
	Expect(clusterOf(ctx, job)).To(Equal(name))
}

// leftovers lists everything of the team on the workers that came from the hub.
func leftovers(ctx context.Context, t team) ([]string, error) {
	var found []string
	for _, w := range workers {
		for _, list := range []client.ObjectList{&kueue.WorkloadList{}, &batchv1.JobList{}, &jobset.JobSetList{}, &corev1.PodList{}} {
			if err := w.List(ctx, list, client.InNamespace(t.name)); err != nil {
				return nil, err
			}
			names, err := listNames(list)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				found = append(found, fmt.Sprintf("%s: %T %s", w.Name, list, name))
			}
		}
	}
	return found, nil
}

func expectNothingLeft(ctx context.Context, t team) {
	GinkgoHelper()
	Eventually(leftovers).WithContext(ctx).WithArguments(t).Should(BeEmpty())
}

// expectNothingLeftBut is expectNothingLeft, but for a job of a worker's own.
func expectNothingLeftBut(ctx context.Context, t team, job string) {
	GinkgoHelper()
	Eventually(leftovers).WithContext(ctx).WithArguments(t).Should(HaveEach(MatchRegexp(` (job-)?` + job + `\b`)))
}

// creations counts, over both workers, how often an object of that resource and name came into being there.
func creations(t team, resource, name string) int {
	GinkgoHelper()
	return allCreations(t, resource)[name]
}

// allCreations counts for each name how often an object of that resource came into being on the workers: the API servers'
// audit logs tell even what a stopped program never saw. A creation whose client is cut off in the middle is logged as one
// that timed out though it may have taken effect; then there are writes to an object of another UID.
func allCreations(t team, resource string) map[string]int {
	GinkgoHelper()
	all := map[string]int{}
	for _, w := range workers {
		answered, uids := map[string]int{}, map[string]map[types.UID]bool{}
		for _, event := range auditEvents(w) {
			ref := event.ObjectRef
			switch {
			case ref.Resource != resource || ref.Namespace != t.name || event.ResponseStatus == nil || event.ResponseStatus.Code >= 300:
			case event.Verb == "create" && ref.Subresource == "":
				answered[ref.Name]++
			case ref.UID != "":
				if uids[ref.Name] == nil {
					uids[ref.Name] = map[types.UID]bool{}
				}
				uids[ref.Name][ref.UID] = true
			}
		}
		for name := range uids {
			answered[name] = max(answered[name], len(uids[name]))
		}
		for name, n := range answered {
			all[name] += n
		}
	}
	return all
}

func auditEvents(s *installation.Site) []auditv1.Event {
	GinkgoHelper()
	log, err := os.Open(filepath.Join(s.Dir, "audit.log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	var events []auditv1.Event
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events
		}
		Expect(err).NotTo(HaveOccurred())
		var event auditv1.Event
		Expect(json.Unmarshal(line, &event)).To(Succeed(), "line %q of the audit log of %s", line, s.Name)
		if event.ObjectRef != nil {
			events = append(events, event)
		}
	}
}

// eventReasons lists the reasons of the events in the team's namespace at a site.
func eventReasons(ctx context.Context, s *installation.Site, t team) ([]string, error) {
	list := &eventsv1.EventList{}
	if err := s.List(ctx, list, client.InNamespace(t.name)); err != nil {
		return nil, err
	}
	var reasons []string
	for i := range list.Items {
		reasons = append(reasons, list.Items[i].Reason)
	}
	return reasons, nil
}
