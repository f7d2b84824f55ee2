package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// ListEvents are the events in a namespace about objects that are asked for, the oldest first. Events about objects that are in
// no namespace are in "default".
func ListEvents(ctx context.Context, c client.Reader, namespace string, about func(corev1.ObjectReference) bool) ([]show.Event, error) {
	if namespace == "" {
		namespace = corev1.NamespaceDefault
	}
	var all corev1.EventList
	if err := kubeclient.ListObjects(ctx, c, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var found []show.Event
	for i := range all.Items {
		e := &all.Items[i]
		if !about(e.InvolvedObject) {
			continue
		}
		found = append(found, show.Event{
			At: lastSeen(e), Type: e.Type, Reason: e.Reason, From: cmp.Or(e.ReportingController, e.Source.Component), Message: e.Message,
			Object: fmt.Sprintf("%s/%s", e.InvolvedObject.Kind, e.InvolvedObject.Name),
		})
	}
	slices.SortStableFunc(found, func(a, b show.Event) int { return a.At.Compare(b.At) })
	return found, nil
}

// lastSeen is when an event last happened, whichever of the two APIs has written it.
func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// IsObject is about one object.
func IsObject(kind string, obj client.Object) func(corev1.ObjectReference) bool {
	return func(r corev1.ObjectReference) bool {
		return r.Kind == kind && r.Name == obj.GetName() && (r.UID == "" || obj.GetUID() == "" || r.UID == obj.GetUID())
	}
}
