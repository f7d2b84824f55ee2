package job_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

const (
	required, preferred, free = kueue.PodSetRequiredTopologyAnnotation, kueue.PodSetPreferredTopologyAnnotation, kueue.PodSetUnconstrainedTopologyAnnotation
	sliceLevel, sliceSize     = kueue.PodSetSliceRequiredTopologyAnnotation, kueue.PodSetSliceSizeAnnotation
	layers, group             = kueue.PodSetSliceRequiredTopologyConstraintsAnnotation, kueue.PodSetGroupNameAnnotation
)

// withPlacements asks for a place in a topology, in the pod template.
func withPlacements(notes ...string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.Template.Annotations = map[string]string{}
		for i := 0; i < len(notes); i += 2 {
			j.Spec.Template.Annotations[notes[i]] = notes[i+1]
		}
	}
}

func TestWhatIsSaidOfPlacesInATopologyThatAreRefused(t *testing.T) {
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	got := map[string]contracttest.Said{}
	for name, notes := range map[string][]string{
		"two levels":              {required, "rack", preferred, "block"},
		"level of no label":       {required, "a rack"},
		"perhaps free":            {free, "maybe"},
		"slices without size":     {sliceLevel, "rack"},
		"size without slices":     {sliceSize, "2"},
		"size in words":           {sliceLevel, "rack", sliceSize, "two"},
		"no size":                 {sliceLevel, "rack", sliceSize, "0"},
		"size above the pods":     {sliceLevel, "rack", sliceSize, "3"},
		"layers and slices":       {sliceLevel, "rack", sliceSize, "2", layers, `[{"topology":"rack","size":2}]`},
		"layers that are no list": {layers, `{}`},
		"no layers":               {layers, `[]`},
		"four layers":             {layers, `[{"topology":"a","size":2},{"topology":"b","size":2},{"topology":"c","size":2},{"topology":"d","size":2}]`},
		"layer without size":      {layers, `[{"topology":"a"}]`},
		"layer above the pods":    {layers, `[{"topology":"a","size":3}]`},
		"layer twice":             {layers, `[{"topology":"a","size":2},{"topology":"a","size":1}]`},
		"layers that do not fit":  {layers, `[{"topology":"a","size":2},{"topology":"b","size":3}]`},
		"group by number":         {required, "rack", group, "7"},
	} {
		_, err := h.ValidateCreate(t.Context(), jobWith(withPlacements(notes...)))
		if list := errorsOf(err); len(list) > 0 {
			got[name] = contracttest.Said{Kind: list[0].Field, Text: list[0].ErrorBody()}
		}
	}
	off := c.options
	off.Gates.MultiLayerTopology = false
	_, err := job.NewWebhook(batchjob.Kind(), off, c, true).ValidateCreate(t.Context(), jobWith(withPlacements(layers, `[]`)))
	got["layers without gate"] = refusedFor(t, "layers without gate", err)
	off.Gates.Topology = false
	if _, err := job.NewWebhook(batchjob.Kind(), off, c, true).ValidateCreate(t.Context(), jobWith(withPlacements(free, "maybe"))); err != nil {
		t.Errorf("without the gate: %v", err)
	}
	contracttest.Compare(t, "topologies", got)
}

// grouped is a JobSet whose pod sets have the counts and the annotations.
func grouped(counts []int32, notes ...map[string]string) *jobsetv1.JobSet {
	js := managedJobSet()
	one := js.Spec.ReplicatedJobs[0]
	js.Spec.ReplicatedJobs = nil
	for i, n := range counts {
		r := *one.DeepCopy()
		r.Name = string(rune('a' + i))
		r.Template.Spec.Parallelism, r.Template.Spec.Completions = ptr.To(n), ptr.To(n)
		r.Template.Spec.Template.Annotations = notes[i]
		js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, r)
	}
	return js
}

func TestWhatIsSaidOfGroupsOfPodSetsThatAreRefused(t *testing.T) {
	in := func(notes ...string) map[string]string {
		j := jobWith(withPlacements(append(notes, group, "g")...))
		return j.Spec.Template.Annotations
	}
	c := newCluster(t)
	h := job.NewWebhook(jobset.Kind(), c.options, c, true)
	got := map[string]contracttest.Said{}
	for name, js := range map[string]*jobsetv1.JobSet{
		"alone":              grouped([]int32{1}, in(required, "rack")),
		"three":              grouped([]int32{1, 1, 1}, in(required, "rack"), in(required, "rack"), in(required, "rack")),
		"two large":          grouped([]int32{2, 3}, in(required, "rack"), in(required, "rack")),
		"unlike":             grouped([]int32{1, 3}, in(required, "rack"), in(required, "block")),
		"without level":      grouped([]int32{1, 3}, in(), in()),
		"in slices":          grouped([]int32{1, 3}, in(required, "rack"), in(required, "rack", sliceLevel, "a", sliceSize, "1")),
		"as it should be":    grouped([]int32{1, 3}, in(required, "rack"), in(required, "rack")),
		"beside one without": grouped([]int32{1, 3, 9}, in(preferred, "rack"), in(preferred, "rack"), nil),
	} {
		_, err := h.ValidateCreate(t.Context(), js)
		if list := errorsOf(err); len(list) > 0 {
			got[name] = contracttest.Said{Kind: list[0].Field, Text: list[0].ErrorBody()}
		}
	}
	contracttest.Compare(t, "topology groups", got)
}

// A job that was made before a rule was must be allowed to stop and to end.
func TestAPlaceThatWasWrongBeforeKeepsNoJobFromChanging(t *testing.T) {
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	old := jobWith(withPlacements(free, "maybe"))
	if _, err := h.ValidateUpdate(t.Context(), old, jobWith(withPlacements(free, "maybe"), started)); err != nil {
		t.Error(err)
	}
	if _, err := h.ValidateUpdate(t.Context(), old, jobWith(withPlacements(free, "perhaps"))); err == nil {
		t.Error("another wrong one is let through")
	}
}

// The public API asks of jobs that it does not manage what it asks of its own.
func TestRulesHoldForJobsThatNobodyManages(t *testing.T) {
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	free := jobWith(labelled(kueue.MaxExecTimeSecondsLabel, "0"))
	delete(free.Labels, kueue.QueueNameLabel)
	_, err := h.ValidateCreate(t.Context(), free)
	got := map[string]contracttest.Said{"no time": refusedFor(t, "no time", err)}
	was, is := jobWith(started, labelled(kueue.PriorityClassLabel, "high")), jobWith(started)
	delete(was.Labels, kueue.QueueNameLabel)
	delete(is.Labels, kueue.QueueNameLabel)
	_, err = h.ValidateUpdate(t.Context(), was, is)
	got["priority class removed"] = refusedFor(t, "priority class removed", err)
	contracttest.Compare(t, "jobs of nobody", got)
}

func TestWithoutElasticJobsTheirAnnotationMeansNothing(t *testing.T) {
	c := newClusterWith(t, func(o *options) { o.Gates.ElasticJobs = false })
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	split := noted(kueue.ElasticJobAnnotation, "true")
	if _, err := h.ValidateCreate(t.Context(), jobWith(split, sized(3, 3), noted(kueue.JobMinParallelismAnnotation, "2"), withPlacements(required, "rack"))); err != nil {
		t.Error(err)
	}
	if _, err := h.ValidateUpdate(t.Context(), jobWith(), jobWith(split)); err != nil {
		t.Error(err)
	}
	js := managedJobSet()
	js.Annotations = map[string]string{kueue.ElasticJobAnnotation: "true"}
	if _, err := job.NewWebhook(jobset.Kind(), c.options, c, true).ValidateCreate(t.Context(), js); err != nil {
		t.Error(err)
	}
	if js.Annotations[kueue.ElasticJobAnnotation] != "true" {
		t.Error("the annotation is gone")
	}
}

// Several errors come in the order of the public API, which differs by kind.
func TestWhichErrorsOfAChangeComeFirst(t *testing.T) {
	c := newCluster(t)
	const wrong, class = kueue.MaxExecTimeSecondsLabel, kueue.PriorityClassLabel
	_, err := job.NewWebhook(batchjob.Kind(), c.options, c, true).ValidateUpdate(t.Context(),
		jobWith(labelled(wrong, "0"), labelled(class, "high")), jobWith(labelled(wrong, "0")))
	was := managedJobSet()
	was.Spec.Suspend = ptr.To(true)
	was.Labels[wrong] = "0"
	is := was.DeepCopy()
	was.Labels[class] = "high"
	_, err2 := job.NewWebhook(jobset.Kind(), c.options, c, true).ValidateUpdate(t.Context(), was, is)
	sorting := jobset.Kind()
	sorting.Webhook.SortByField = true
	_, err3 := job.NewWebhook(sorting, c.options, c, true).ValidateUpdate(t.Context(), was, is)
	for kind, row := range map[string]struct {
		err   error
		first string
	}{
		"Job": {err, "metadata.labels[" + wrong + "]"}, "JobSet": {err2, "metadata.labels[" + class + "]"},
		"a kind that sorts": {err3, "metadata.labels[" + wrong + "]"},
	} {
		if list := errorsOf(row.err); len(list) != 2 || list[0].Field != row.first {
			t.Errorf("%s: %v", kind, row.err)
		}
	}
}

func TestAKindMayLeaveItsTemplatesUnjudged(t *testing.T) {
	c := newCluster(t)
	for unjudged, want := range map[bool]int{false: 1, true: 0} {
		kind := batchjob.Kind()
		kind.Webhook.NoTopologyRules = unjudged
		_, err := job.NewWebhook(kind, c.options, c, true).ValidateCreate(t.Context(), jobWith(withPlacements(required, "a rack")))
		if got := len(errorsOf(err)); got != want {
			t.Errorf("no rules %v: %v", unjudged, err)
		}
	}
}
