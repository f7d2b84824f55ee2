package trainjob

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// patchManager is whose entry in spec.runtimePatches has what is placed (contract: job-kinds.md 4, webhook default).
const patchManager = "kueue.x-k8s.io/manager"

// replicatedJobs is where in the entry.
var replicatedJobs = []string{"trainingRuntimeSpec", "template", "spec", "replicatedJobs"}

// patches returns the entries of spec.runtimePatches, to be changed and given to setPatches.
func patches(tj trainJob) []any {
	entries, _, _ := unstructured.NestedSlice(tj.Object, "spec", "runtimePatches")
	return entries
}

func setPatches(tj trainJob, entries []any) {
	if len(entries) == 0 {
		unstructured.RemoveNestedField(tj.Object, "spec", "runtimePatches")
		return
	}
	set(tj, entries, "spec", "runtimePatches")
}

// findPatch returns the entry of the manager; nil if there is none.
func findPatch(entries []any) map[string]any {
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok && entry["manager"] == patchManager {
			return entry
		}
	}
	return nil
}

// addPatch adds an empty entry. It does so whatever is there: of two entries of one manager the API server refuses the second, so that nobody else
// writes this one.
func addPatch(tj trainJob) {
	set(tj, append(patches(tj), newPatch()), "spec", "runtimePatches")
}

func newPatch() map[string]any {
	return map[string]any{"manager": patchManager, "trainingRuntimeSpec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}}
}

// removePatch removes the entry, and from the others the time that the trainer has put there.
func removePatch(tj trainJob) {
	var kept []any
	for _, e := range patches(tj) {
		entry, ok := e.(map[string]any)
		if ok && entry["manager"] == patchManager {
			continue
		}
		delete(entry, "time")
		kept = append(kept, e)
	}
	setPatches(tj, kept)
}

// place puts placements into the entry, one for each replicated job, and nothing else: the trainer merges them with the runtime's templates. A
// TrainJob from before the webhook has no entry yet. It fails with a [job.ConflictError].
func place(tj trainJob, placements []job.Placement) error {
	entries := patches(tj)
	entry := findPatch(entries)
	if entry == nil {
		entry = newPatch()
		entries = append(entries, entry)
	}
	placed, err := readPlacements(entry)
	if err != nil {
		return err
	}
	jobs := make([]any, len(placements))
	for i, p := range placements {
		merged := placed[p.Name]
		if err := merged.Merge(p); err != nil {
			return err
		}
		if jobs[i], err = writePlacement(string(p.Name), merged); err != nil {
			return err
		}
	}
	if err := unstructured.SetNestedSlice(entry, jobs, replicatedJobs...); err != nil {
		return fmt.Errorf("runtime patch of %s: %w", patchManager, err)
	}
	set(tj, entries, "spec", "runtimePatches")
	return nil
}

// readPlacements returns what the entry places, by pod set.
func readPlacements(entry map[string]any) (map[kueue.PodSetReference]job.Placement, error) {
	raw, err := json.Marshal(entry)
	var patch runtimePatch
	if err == nil {
		err = json.Unmarshal(raw, &patch)
	}
	if err != nil {
		return nil, fmt.Errorf("runtime patch of %s: %w", patchManager, err)
	}
	placed := map[kueue.PodSetReference]job.Placement{}
	for _, j := range patch.jobSet().ReplicatedJobs {
		if j.Template == nil || j.Template.Spec == nil || j.Template.Spec.Template == nil {
			continue
		}
		var p job.Placement
		if m := j.Template.Spec.Template.Metadata; m != nil {
			p.Labels, p.Annotations = m.Labels, m.Annotations
		}
		if s := j.Template.Spec.Template.Spec; s != nil {
			p.NodeSelector, p.Tolerations, p.SchedulingGates = s.NodeSelector, s.Tolerations, s.SchedulingGates
		}
		placed[kueue.PodSetReference(j.Name)] = p
	}
	return placed, nil
}

// jobSet is what the patch changes in the JobSet's spec.
func (p *runtimePatch) jobSet() jobSetPatch {
	if t := p.TrainingRuntimeSpec.Template; t != nil && t.Spec != nil {
		return *t.Spec
	}
	return jobSetPatch{}
}

// writePlacement is the patch of one replicated job.
func writePlacement(name string, p job.Placement) (map[string]any, error) {
	pod := object[podSpecPatch]{
		Metadata: &metadata{Labels: p.Labels, Annotations: p.Annotations},
		Spec:     &podSpecPatch{NodeSelector: p.NodeSelector, Tolerations: p.Tolerations, SchedulingGates: p.SchedulingGates},
	}
	patch := replicatedJobPatch{Name: name, Template: &object[part[object[podSpecPatch]]]{Spec: &part[object[podSpecPatch]]{Template: &pod}}}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode runtime patch of %s: %w", name, err)
	}
	written := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &written.Object); err != nil {
		return nil, fmt.Errorf("decode runtime patch of %s: %w", name, err)
	}
	return written.Object, nil
}

// restore empties the entry, whatever was placed. It tells whether there was anything.
func restore(tj trainJob) bool {
	entries := patches(tj)
	entry := findPatch(entries)
	if found, ok, err := unstructured.NestedFieldNoCopy(entry, replicatedJobs...); entry == nil || !ok || err != nil || found == nil {
		return false
	}
	unstructured.RemoveNestedField(entry, replicatedJobs...)
	set(tj, entries, "spec", "runtimePatches")
	return true
}

// stop suspends, waits for the jobs to be gone, without which the trainer lets nobody change a patch, and takes out what was placed.
func stop(tj trainJob, _ []kueue.PodSet) job.StopStep {
	switch {
	case !suspended(tj):
		set(tj, true, "spec", "suspend")
		return job.StopSpec
	case progress(tj).Active:
		return job.StopWait
	case restore(tj):
		return job.StopSpec
	}
	return job.StopDone
}
