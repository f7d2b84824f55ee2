package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
	"switchyard.dev/worker/job/jobset"
)

// errorsOf are the errors that a webhook refuses for, in their order.
func errorsOf(err error) []*field.Error {
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		return nil
	}
	var list []*field.Error
	for _, e := range all.Errors() {
		var one *field.Error
		if errors.As(e, &one) {
			list = append(list, one)
		}
	}
	return list
}

// refusedFor is the one error that a webhook refuses for.
func refusedFor(t *testing.T, name string, err error) contracttest.Said {
	t.Helper()
	list := errorsOf(err)
	if len(list) != 1 {
		t.Errorf("%s: refused for %v", name, err)
		return contracttest.Said{}
	}
	return contracttest.Said{Kind: list[0].Field, Text: list[0].ErrorBody()}
}

func noted(notes ...string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		for i := 0; i < len(notes); i += 2 {
			j.Annotations[notes[i]] = notes[i+1]
		}
	}
}

func labelled(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Labels[key] = value }
}

func started(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }

// sized sets parallelism and completions.
func sized(parallelism, completions int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &parallelism, &completions }
}

func indexed(j *batchv1.Job) { j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion) }

func jobWith(list ...func(*batchv1.Job)) *batchv1.Job {
	j := newJob()
	for _, change := range list {
		change(j)
	}
	return j
}

func TestWhatIsSaidOfJobsThatAreRefused(t *testing.T) {
	const (
		gates, least  = kueue.AdmissionGatedByAnnotation, kueue.JobMinParallelismAnnotation
		equal, split  = kueue.JobCompletionsEqualParallelismAnnotation, kueue.ElasticJobAnnotation
		timed, before = kueue.MaxExecTimeSecondsLabel, kueue.PrebuiltWorkloadNameKey
	)
	inDomain := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.Template.Annotations = map[string]string{name: "rack"} }
	}
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	got := map[string]contracttest.Said{}
	for name, list := range map[string][]func(*batchv1.Job){
		"queue name":                     changes(labelled(kueue.QueueNameLabel, "Q_")),
		"prebuilt name":                  changes(noted(before, "Q_")),
		"prebuilt name in the label":     changes(labelled(before, "Q_")),
		"no time":                        changes(labelled(timed, "0")),
		"time in words":                  changes(labelled(timed, "long")),
		"gate without name":              changes(noted(gates, "a.io/x,")),
		"gate twice":                     changes(noted(gates, "a.io/x, a.io/x")),
		"gate without domain":            changes(noted(gates, "x")),
		"gate too long":                  changes(noted(gates, "a.io/"+strings.Repeat("x", 59))),
		"least of no pods":               changes(sized(3, 3), noted(least, "0")),
		"least of all pods":              changes(sized(3, 3), noted(least, "3")),
		"least in words":                 changes(noted(least, "few")),
		"least of an elastic job":        changes(sized(3, 3), noted(least, "2", split, "true")),
		"completions in words":           changes(noted(equal, "so")),
		"completions without index":      changes(noted(equal, "true")),
		"completions unlike parallelism": changes(indexed, sized(3, 2), noted(equal, "true")),
		"elastic in one domain":          changes(inDomain(kueue.PodSetRequiredTopologyAnnotation), noted(split, "true")),
		"elastic, better in one domain":  changes(inDomain(kueue.PodSetPreferredTopologyAnnotation), noted(split, "true")),
	} {
		_, err := h.ValidateCreate(t.Context(), jobWith(list...))
		got[name] = refusedFor(t, name, err)
	}
	js := managedJobSet()
	js.Annotations = map[string]string{split: "true"}
	_, err := job.NewWebhook(jobset.Kind(), c.options, c, true).ValidateCreate(t.Context(), js)
	got["elastic JobSet"] = refusedFor(t, "elastic JobSet", err)
	contracttest.Compare(t, "jobs", got)
}

func TestWhatIsSaidOfChangesOfJobsThatAreRefused(t *testing.T) {
	const gates, class, equal = kueue.AdmissionGatedByAnnotation, kueue.PriorityClassLabel, kueue.JobCompletionsEqualParallelismAnnotation
	least := noted(kueue.JobMinParallelismAnnotation, "1")
	c := newCluster(t, localQueue("default"))
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	got := map[string]contracttest.Said{}
	for name, pair := range map[string][2]*batchv1.Job{
		"queue while running":          {jobWith(started), jobWith(started, labelled(kueue.QueueNameLabel, "other"))},
		"queue emptied":                {jobWith(), jobWith(labelled(kueue.QueueNameLabel, ""))},
		"prebuilt name while running":  {jobWith(started), jobWith(started, noted(kueue.PrebuiltWorkloadNameKey, "wl"))},
		"time while running":           {jobWith(started), jobWith(labelled(kueue.MaxExecTimeSecondsLabel, "9"))},
		"priority class while running": {jobWith(started), jobWith(started, labelled(class, "high"))},
		"priority class removed":       {jobWith(labelled(class, "high")), jobWith()},
		"elastic":                      {jobWith(), jobWith(noted(kueue.ElasticJobAnnotation, "true"))},
		"first gate":                   {jobWith(), jobWith(noted(gates, "a.io/x"))},
		"another gate":                 {jobWith(noted(gates, "a.io/x")), jobWith(noted(gates, "a.io/x,a.io/y"))},
		"parallelism while running":    {jobWith(started, least), jobWith(started, least, sized(1, 2))},
		"completions while running":    {jobWith(started), jobWith(started, indexed, noted(equal, "true"))},
	} {
		_, err := h.ValidateUpdate(t.Context(), pair[0], pair[1])
		got[name] = refusedFor(t, name, err)
	}
	contracttest.Compare(t, "changes of jobs", got)
}

func TestSeveralErrorsOfAJobAreToldInTheirOrder(t *testing.T) {
	c := newCluster(t)
	bad := jobWith(labelled(kueue.MaxExecTimeSecondsLabel, "0"), noted(kueue.JobMinParallelismAnnotation, "few"))
	_, err := job.NewWebhook(batchjob.Kind(), c.options, c, true).ValidateCreate(t.Context(), bad)
	const want = `[metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: "0": should be greater than 0, ` +
		`metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: "few": strconv.Atoi: parsing "few": invalid syntax]`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestGatesThatStayAreNotJudgedAgain(t *testing.T) {
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	old := jobWith(noted(kueue.AdmissionGatedByAnnotation, "budget,legal"))
	for _, now := range []string{"budget,legal", "legal", ""} {
		if _, err := h.ValidateUpdate(t.Context(), old, jobWith(noted(kueue.AdmissionGatedByAnnotation, now))); err != nil {
			t.Errorf("%q: %v", now, err)
		}
	}
}

// The API server passes on the code of a webhook's answer: 403 is what clients of the public API know.
func TestRefusalsOfJobsAreForbidden(t *testing.T) {
	c := newCluster(t)
	bad := jobWith(labelled(kueue.MaxExecTimeSecondsLabel, "0"))
	bad.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	raw, err := json.Marshal(bad)
	if err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string]*batchv1.Job{"create": nil, "update": newJob()} {
		request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			UID: "asked", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
		}}
		if old != nil {
			request.Operation, request.OldObject.Raw = admissionv1.Update, raw
		}
		h := admission.WithValidator[*batchv1.Job](c.Scheme(), job.NewWebhook(batchjob.Kind(), c.options, c, true))
		forbidden(t, name, h.Handle(t.Context(), request))
	}
	over := job.Options{Gates: job.DefaultGates(), Stale: staleAlways}
	forbidden(t, "an epoch that is over", job.ExternalWebhook(over).Handle(t.Context(), newReview(t, nil, createdInEpoch(newExternalJob(nil, nil), "u", "2"))))
}

func staleAlways(context.Context, client.Object, string) *field.Error {
	return field.Forbidden(field.NewPath("metadata"), "over")
}

func forbidden(t *testing.T, name string, answer admission.Response) {
	t.Helper()
	if r := answer.Result; answer.Allowed || r.Code != http.StatusForbidden || r.Reason != metav1.StatusReasonForbidden || r.Details != nil ||
		!strings.HasPrefix(r.Message, "metadata") {
		t.Errorf("%s: the answer is %+v", name, answer.Result)
	}
}
