package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/memory"
)

// simulatedWorker is the worker's program on one in-memory server: it admits at once whatever comes, resumes jobs at once, and
// publishes how much room there is.
type simulatedWorker struct {
	server *memory.Server
	queue  string
	// resumed, if set before anything is dispatched, is told of each job that is resumed.
	resumed func(job string, at time.Time)
	done    chan struct{}
	ended   sync.WaitGroup

	mu    sync.Mutex
	todo  []memory.Change
	woken chan struct{}
	held  int64
	news  bool
}

// reportEvery is how often a worker's program publishes its capacity at most.
const reportEvery = 2 * time.Second

func newSimulatedWorker(server *memory.Server, group int) *simulatedWorker {
	return &simulatedWorker{server: server, queue: groupQueue(group), done: make(chan struct{}), woken: make(chan struct{}, 1)}
}

// createObjects creates what a worker has, and begins to play.
func (p *simulatedWorker) createObjects() error {
	if err := putAll(p.server, workerObjects(p.queue)); err != nil {
		return err
	}
	if err := p.server.Put("capacityreports", p.buildReport()); err != nil {
		return err
	}
	p.server.Subscribe(p.recordEvent)
	p.ended.Go(p.run)
	return nil
}

func (p *simulatedWorker) stop() {
	close(p.done)
	p.ended.Wait()
	p.server.Stop()
}

// recordEvent takes a change that is to be answered.
func (p *simulatedWorker) recordEvent(c memory.Change) {
	if c.Resource != "workloads" && c.Resource != "jobs" || c.Type == watch.Modified {
		return
	}
	p.mu.Lock()
	p.todo = append(p.todo, c)
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *simulatedWorker) run() {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.woken:
		case <-ticker.C:
			p.publishReport()
		}
		p.mu.Lock()
		todo := p.todo
		p.todo = nil
		p.mu.Unlock()
		for _, c := range todo {
			p.handleChange(c)
		}
	}
}

// handleChange does what a worker's program does about a change. An object that is gone by now needs nothing any more.
func (p *simulatedWorker) handleChange(c memory.Change) {
	switch {
	case c.Resource == "workloads" && c.Type == watch.Added:
		_ = p.server.Change(c.Resource, c.Namespace, c.Name, func(wl map[string]any) { p.admitCopy(wl) })
	case c.Resource == "workloads":
		p.adjustUsage(-1)
	case c.Type == watch.Added:
		p.startJob(c)
	}
}

func (p *simulatedWorker) adjustUsage(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += n
	p.news = true
}

// admitCopy gives a Workload quota.
func (p *simulatedWorker) admitCopy(wl map[string]any) {
	p.adjustUsage(1)
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, reason, message string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now, "observedGeneration": int64(1),
		}
	}
	wl["status"] = map[string]any{
		"admission": map[string]any{"clusterQueue": p.queue, "podSetAssignments": []any{map[string]any{
			"name": "main", "count": int64(1), "flavors": map[string]any{"cpu": team}, "resourceUsage": map[string]any{"cpu": "1"},
		}}},
		"conditions": []any{
			condition(kueue.WorkloadQuotaReserved, "QuotaReserved", "Quota reserved in ClusterQueue "+p.queue),
			condition(kueue.WorkloadAdmitted, "Admitted", "The workload is admitted"),
		},
	}
}

// startJob resumes a job and has it take up its Workload.
func (p *simulatedWorker) startJob(c memory.Change) {
	job := c.Fields()
	metadata, _ := job["metadata"].(map[string]any)
	workload, uid := prebuilt(metadata), fmt.Sprint(metadata["uid"])
	err := p.server.Change("jobs", c.Namespace, c.Name, func(job map[string]any) {
		if spec, ok := job["spec"].(map[string]any); ok {
			spec["suspend"] = false
		}
	})
	if err != nil {
		return
	}
	if p.resumed != nil {
		p.resumed(c.Name, time.Now())
	}
	_ = p.server.Change("workloads", c.Namespace, workload, func(wl map[string]any) {
		metadata, _ := wl["metadata"].(map[string]any)
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "name": c.Name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
		}}
		if labels, ok := metadata["labels"].(map[string]any); ok {
			labels[kueue.JobUIDLabel] = uid
		}
	})
}

// prebuilt names the Workload of a copy of a job.
func prebuilt(metadata map[string]any) string {
	for _, place := range []string{"annotations", "labels"} {
		if values, ok := metadata[place].(map[string]any); ok {
			if name, ok := values[kueue.PrebuiltWorkloadNameKey].(string); ok {
				return name
			}
		}
	}
	return ""
}

// finishJob ends a job that runs here, and its Workload.
func (p *simulatedWorker) finishJob(job string) {
	now := metav1.Now()
	status := batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Ready: ptr.To[int32](0)}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: "True", LastProbeTime: now, LastTransitionTime: now})
	}
	workload := ""
	_ = p.server.Change("jobs", team, job, func(fields map[string]any) {
		fields["status"] = readFields(status)
		metadata, _ := fields["metadata"].(map[string]any)
		workload = prebuilt(metadata)
	})
	_ = p.server.Change("workloads", team, workload, func(wl map[string]any) {
		status, _ := wl["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		status["conditions"] = append(conditions, readFields(metav1.Condition{
			Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "Job finished successfully",
			LastTransitionTime: now,
		}))
	})
}

// publishReport writes the capacity report if there is news.
func (p *simulatedWorker) publishReport() {
	p.mu.Lock()
	news := p.news
	p.news = false
	p.mu.Unlock()
	if !news {
		return
	}
	_ = p.server.Change("capacityreports", "", switchyard.CapacityReportName, func(report map[string]any) {
		is := readFields(p.buildReport())
		report["observedAt"], report["clusterQueues"] = is["observedAt"], is["clusterQueues"]
	})
}

func (p *simulatedWorker) buildReport() *switchyard.CapacityReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	const whole = workerCores * 1000 // thousandths of a core
	free := max(whole-p.held*1000, 0)
	return &switchyard.CapacityReport{
		ObjectMeta: metav1.ObjectMeta{Name: switchyard.CapacityReportName},
		ObservedAt: metav1.NowMicro(), Kinds: []string{"Job.v1.batch"},
		Flavors: []switchyard.CapacityFlavor{{Name: team}},
		ClusterQueues: []switchyard.CapacityQueue{{
			Name: p.queue, LocalQueues: []switchyard.CapacityLocalQueue{{Name: strings.Join([]string{team, p.queue}, "/")}},
			Groups: []switchyard.CapacityGroup{{Resources: []string{"cpu"}, Flavors: []switchyard.CapacityFigures{{
				Flavor: team, Own: []int64{free}, Free: []int64{free}, Largest: []int64{whole},
			}}}},
		}},
	}
}

func readFields(value any) map[string]any {
	fields := map[string]any{}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic("bench: " + err.Error())
	}
	return fields
}
