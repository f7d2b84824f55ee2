package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// jobObjects are a Job of the hub that runs on a worker, its Workload, and the copies of both, as the servers keep them.
type jobObjects struct {
	worker                       *simulatedWorker
	job, workload, copied, mated string
	// names are what is different in every family: names and UIDs.
	names []string
}

// addJobs makes of every Job that runs as many more as it takes until so many are held, each with objects as the hub and the
// workers would have made them. The hub's program must not run.
func (h *memoryFleet) addJobs(s *resumeLog, held int) error {
	var families []jobObjects
	for _, name := range slices.Sorted(maps.Keys(s.ran)) {
		f, err := h.buildJob(name, h.workers[s.ran[name].worker])
		if err != nil {
			return err
		}
		families = append(families, f)
	}
	for i := range held - len(families) {
		if err := families[i%len(families)].cloneObjects(h, i); err != nil {
			return err
		}
	}
	return nil
}

func (h *memoryFleet) buildJob(name string, at *simulatedWorker) (jobObjects, error) {
	f := jobObjects{worker: at}
	hubJob, workerJob := &batchv1.Job{}, &batchv1.Job{}
	hubWorkload, workerWorkload := &kueue.Workload{}, &kueue.Workload{}
	if err := at.server.Get("jobs", team, name, workerJob); err != nil {
		return f, err
	}
	workload := workerJob.Annotations[kueue.PrebuiltWorkloadNameKey]
	if workload == "" {
		workload = workerJob.Labels[kueue.PrebuiltWorkloadNameKey]
	}
	for _, get := range []error{
		h.hub.Get("jobs", team, name, hubJob), h.hub.Get("workloads", team, workload, hubWorkload),
		at.server.Get("workloads", team, workload, workerWorkload),
	} {
		if get != nil {
			return f, get
		}
	}
	f.names = []string{workload, name}
	for _, o := range []client.Object{hubJob, workerJob, hubWorkload, workerWorkload} {
		f.names = append(f.names, string(o.GetUID()))
	}
	var err error
	for _, part := range []struct {
		text *string
		of   func() (string, error)
	}{
		{&f.job, func() (string, error) { return h.hub.Text("jobs", team, name) }},
		{&f.workload, func() (string, error) { return h.hub.Text("workloads", team, workload) }},
		{&f.mated, func() (string, error) { return at.server.Text("jobs", team, name) }},
		{&f.copied, func() (string, error) { return at.server.Text("workloads", team, workload) }},
	} {
		if *part.text, err = part.of(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// cloneObjects stores the family once more, under other names.
func (f jobObjects) cloneObjects(h *memoryFleet, number int) error {
	var pairs []string
	for i, name := range f.names {
		other := string(uuid.NewUUID())
		if i < 2 {
			other = fmt.Sprintf("%s-%05d", name, number)
		}
		pairs = append(pairs, name, other)
	}
	renamed := strings.NewReplacer(pairs...)
	for _, part := range []struct {
		restore func(plural, text string) error
		plural  string
		text    string
	}{
		{h.hub.Restore, "jobs", f.job}, {h.hub.Restore, "workloads", f.workload},
		{f.worker.server.Restore, "workloads", f.copied}, {f.worker.server.Restore, "jobs", f.mated},
	} {
		if err := part.restore(part.plural, renamed.Replace(part.text)); err != nil {
			return err
		}
	}
	f.worker.adjustUsage(1)
	return nil
}
