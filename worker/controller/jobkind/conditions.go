package jobkind

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/kube"
)

// maxConditionMessage is how long a message of a condition may be, in bytes.
const maxConditionMessage = 8 * 1024

// serving is the condition Serving in the making.
type serving struct {
	served          bool
	reason, message string
}

// withStatus is the JobKind with the status that says what has become of it.
func withStatus(v verdict, s serving, now time.Time) *switchyard.JobKind {
	is := v.jobKind.DeepCopy()
	is.Status.ObservedGeneration = is.Generation
	setCondition(is, switchyard.JobKindAccepted, v.program != nil, v.reason, v.message, now)
	setCondition(is, switchyard.JobKindServing, s.served, s.reason, s.message, now)
	return is
}

func setCondition(of *switchyard.JobKind, condition string, isTrue bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&of.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: kube.Truncate(message, maxConditionMessage),
		ObservedGeneration: of.Generation, LastTransitionTime: metav1.NewTime(now),
	})
}
