// Package podmeta reads what a pod says of itself in the words of the public API: its group, who gates it, whether it waits (contract:
// job-kinds.md 10).
package podmeta

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// GVK is that of pods.
func GVK() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Pod") }

// GroupName returns the name of the pod's group, empty if it is in none. The annotation comes first; with the gate
// WorkloadIdentifierAnnotations off the label does, and the annotation counts only where no label could hold the name.
func GroupName(pod metav1.Object, gates job.Gates) string {
	name, _ := groupName(pod, gates)
	return name
}

// IsGroupInLabel tells whether the pod names its group in a label.
func IsGroupInLabel(pod metav1.Object, gates job.Gates) bool {
	_, inLabel := groupName(pod, gates)
	return inLabel
}

func groupName(pod metav1.Object, gates job.Gates) (name string, inLabel bool) {
	annotation, label := pod.GetAnnotations()[kueue.PodGroupNameKey], pod.GetLabels()[kueue.PodGroupNameKey]
	switch {
	case gates.WorkloadIdentifierAnnotations && annotation != "":
		return annotation, false
	case label != "":
		return label, true
	case len(annotation) > validation.LabelValueMaxLength:
		return annotation, false
	}
	return "", true
}

// errTotalCount says that a group has no pods.
var errTotalCount = errors.New("group total count should be greater than zero")

// TotalCount returns how many pods the group of the pod has. An error says what is wrong with the annotation, in the words of the
// public API.
func TotalCount(pod metav1.Object) (int, error) {
	text := pod.GetAnnotations()[kueue.PodGroupTotalCountAnnotation]
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, err
	case n > math.MaxInt32:
		return 0, &strconv.NumError{Func: "Atoi", Num: text, Err: strconv.ErrRange}
	case n < 1:
		return 0, fmt.Errorf("incorrect annotation value '%s=%s': %w", kueue.PodGroupTotalCountAnnotation, text, errTotalCount)
	}
	return n, nil
}

// Index returns the rank that the pod has in its group, negative if it says none.
func Index(pod metav1.Object) int {
	rank, found := pod.GetLabels()[kueue.PodGroupPodIndexLabel]
	if !found {
		return -1
	}
	n, err := strconv.Atoi(rank)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return -1
	}
	return n
}

// IsManaged tells whether the pod bears the mark of managed pods: no other one is reconciled.
func IsManaged(pod metav1.Object) bool {
	return pod.GetLabels()[kueue.ManagedLabel] == kueue.ManagedLabelValue
}

// HasSuspendingParent tells whether an integration has the pod wait in place of the object that made it.
func HasSuspendingParent(pod metav1.Object) bool {
	return pod.GetAnnotations()[kueue.PodSuspendingParentAnnotation] != ""
}

// IsServed tells whether pods like this one are served: all of them if the configuration names pods, else those that another
// integration has wait. The webhook and the reconciler both ask it, so no pod waits for ever.
func IsServed(pod metav1.Object, o *job.Options) bool {
	return !o.PodsOfOthersOnly || HasSuspendingParent(pod)
}

// IsGated tells whether the pod waits to be admitted.
func IsGated(pod *corev1.Pod) bool { return hasGate(pod, kueue.AdmissionSchedulingGate) }

func hasGate(pod *corev1.Pod, name string) bool {
	return slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
}

// AddGate makes the pod wait for the gate.
func AddGate(pod *corev1.Pod, name string) {
	if !hasGate(pod, name) {
		pod.Spec.SchedulingGates = append(slices.Clip(pod.Spec.SchedulingGates), corev1.PodSchedulingGate{Name: name})
	}
}

// RemoveGate lets the pod wait for the gate no more.
func RemoveGate(pod *corev1.Pod, name string) {
	pod.Spec.SchedulingGates = slices.DeleteFunc(slices.Clone(pod.Spec.SchedulingGates), func(g corev1.PodSchedulingGate) bool {
		return g.Name == name
	})
}

// IsTerminal tells whether the pod's containers have ended for good.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsReady tells whether the pod serves.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// IsNews tells whether a change of a pod's status is one that somebody waits for: it has ended, or has become ready.
func IsNews(was, is client.Object) bool {
	before, ok := was.(*corev1.Pod)
	now, also := is.(*corev1.Pod)
	return ok && also && (IsTerminal(now) || IsReady(now) && !IsReady(before))
}

// IsSuspended tells whether the pod does not run: it waits, or has ended.
func IsSuspended(pod *corev1.Pod) bool { return IsGated(pod) || IsTerminal(pod) }

// IsUnretriable tells whether the group of the pod ends without replacements.
func IsUnretriable(pod metav1.Object) bool {
	return pod.GetAnnotations()[kueue.RetriableInGroupAnnotation] == "false"
}

// IsTrue tells whether an annotation is "true".
func IsTrue(pod metav1.Object, annotation string) bool {
	return pod.GetAnnotations()[annotation] == "true"
}
