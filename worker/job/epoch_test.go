package job_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/batchjob"
)

// createdInEpoch stamps what a hub with the origin of the prebuilt Workload has made for a Workload of its own.
func createdInEpoch[T client.Object](object T, owner, at string) T {
	labels := object.GetLabels()
	labels[kueue.MultiKueueOriginLabel] = "hub"
	object.SetLabels(labels)
	object.SetAnnotations(map[string]string{
		kueue.PrebuiltWorkloadNameKey: "prebuilt", switchyard.OwnerUIDAnnotation: owner, switchyard.EpochAnnotation: at,
	})
	return object
}

func TestAJobTakesUpNoWorkloadOfALaterEpochOrOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		owner, at string
		adopted   bool
	}{
		"of an earlier epoch":             {"u", "2", false},
		"of the same epoch":               {"u", "3", true},
		"for another Workload of the hub": {"v", "3", false},
		"that does not say for which":     {"", "3", true},
	} {
		j := createdInEpoch(newJob(), c.owner, c.at)
		j.Spec.Suspend = ptr.To(false) // it ran with the Workload that was there before
		cl := newCluster(t, j, createdInEpoch(prebuilt(), "u", "3"), newFlavor("h100"))
		cl.reconcileAll()
		if got := len(cl.workload().OwnerReferences) > 0; got != c.adopted {
			t.Errorf("a job %s: adopted %v", name, got)
		}
		if !*cl.job().Spec.Suspend {
			t.Errorf("a job %s goes on without admission", name)
		}
	}
}

func TestAJobOfAnEpochThatIsOverIsNotMade(t *testing.T) {
	asked := ""
	c := newClusterWith(t, func(o *options) {
		o.Stale = func(_ context.Context, _ client.Object, workload string) *field.Error {
			asked = workload
			return field.Forbidden(field.NewPath("metadata"), "epoch 2 is over")
		}
	})
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	if _, err := h.ValidateCreate(t.Context(), createdInEpoch(newJob(), "u", "2")); err == nil || !strings.Contains(err.Error(), "epoch 2 is over") || asked != "prebuilt" {
		t.Errorf("asked about %q: %v", asked, err)
	}
}

func TestTheEpochOfAJobDoesNotChange(t *testing.T) {
	c := newCluster(t)
	h := job.NewWebhook(batchjob.Kind(), c.options, c, true)
	for to, allowed := range map[string]bool{"2": false, "3": true, "4": false} {
		old, now := createdInEpoch(newJob(), "u", "3"), createdInEpoch(newJob(), "u", to)
		if _, err := h.ValidateUpdate(t.Context(), old, now); (err == nil) != allowed {
			t.Errorf("to %s: %v", to, err)
		}
	}
}
