package jobset

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/worker/job"
)

// children are the batch Jobs that the JobSet controller makes, one for each replica of a replicated job.
func children() *job.Children[*jobsetv1.JobSet] {
	return &job.Children[*jobsetv1.JobSet]{
		NewLists:  func() []client.ObjectList { return []client.ObjectList{&batchv1.JobList{}} },
		Labels:    func(js *jobsetv1.JobSet) map[string]string { return map[string]string{jobsetv1.JobSetNameKey: js.Name} },
		Covers:    covers,
		HoldsPods: job.BatchJobHoldsPods,
	}
}

// covers holds for a Job that has the name of a replica, no more pods than a replica has, and pods that need no more than the
// replica's. Names are unique, so no more can be run under a JobSet's admission than was admitted.
func covers(js *jobsetv1.JobSet, child client.Object) bool {
	j, ok := child.(*batchv1.Job)
	if !ok {
		return false
	}
	for i := range js.Spec.ReplicatedJobs {
		r := &js.Spec.ReplicatedJobs[i]
		number, found := strings.CutPrefix(j.Name, js.Name+"-"+r.Name+"-")
		index, err := strconv.ParseInt(number, 10, 32)
		if found && err == nil && strconv.FormatInt(index, 10) == number && index >= 0 && index < int64(r.Replicas) {
			return job.BatchJobPods(&j.Spec) <= podsPerJob(r) && job.RequestsAtMost(&j.Spec.Template.Spec, &r.Template.Spec.Template.Spec)
		}
	}
	return false
}
