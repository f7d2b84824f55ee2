package job

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/kube"
	"switchyard.dev/worker/workload"
)

// checkMessageEvents tells what the checks say, all at once, that a job waits for. Nothing is told twice.
func checkMessageEvents(was, is *kueue.Workload) []kube.Event {
	said := checkMessages(is)
	if said == "" || said == checkMessages(was) {
		return nil
	}
	return newEvents(kueue.EventUpdatedAdmissionCheck, said)
}

// checkMessages lists the messages of those checks that keep a Workload with quota waiting (contract: messages.md 5.7).
func checkMessages(wl *kueue.Workload) string {
	if !workload.HasQuota(wl) || workload.IsAdmitted(wl) || workload.IsEvicted(wl) {
		return ""
	}
	var list []string
	for _, c := range wl.Status.AdmissionChecks {
		if c.State == kueue.CheckStatePending && c.Message != "" {
			list = append(list, fmt.Sprintf("%s: %s", c.Name, c.Message))
		}
	}
	return strings.Join(list, "; ")
}

// checkMessagePredicate lets every event pass, and tells the job's readers what admission checks have to say about its Workload (contract:
// kueue-api.md 1.14, UpdatedAdmissionCheck). Only here are both the old and the new messages known.
func (w *watches[T]) checkMessagePredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*kueue.Workload)
		is, ok2 := e.ObjectNew.(*kueue.Workload)
		if !ok || !ok2 {
			return true
		}
		if owner := w.ownerOf(is); owner != nil {
			kube.RecordEvents(w.recorder, owner, checkMessageEvents(was, is)...)
		}
		return true
	}}
}

// ownerOf returns enough of the job that controls the Workload to record events about it; nil if it is of another kind.
func (w *watches[T]) ownerOf(wl *kueue.Workload) client.Object {
	ref := metav1.GetControllerOfNoCopy(wl)
	if ref == nil || !w.ownsReference(ref) {
		return nil
	}
	owner := w.kind.New()
	owner.GetObjectKind().SetGroupVersionKind(w.kind.GVK)
	owner.SetNamespace(wl.Namespace)
	owner.SetName(ref.Name)
	owner.SetUID(ref.UID)
	return owner
}
