package visibility

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	visibility "switchyard.dev/apis/visibility/v1beta2"
)

// table prints a summary for people.
type table struct{ clock clock.PassiveClock }

// columns are those of a summary, in their order.
func columns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Position", Type: "integer", Description: "How many workloads wait before it in its ClusterQueue."},
		{Name: "Namespace", Type: "string", Description: "The namespace of the workload."},
		{Name: "Name", Type: "string", Format: "name", Description: "The name of the workload."},
		{Name: "LocalQueue", Type: "string", Description: "The LocalQueue that it came through."},
		{Name: "In LocalQueue", Type: "integer", Description: "How many workloads of the same LocalQueue wait before it."},
		{Name: "Priority", Type: "integer", Description: "The priority of its specification."},
		{Name: "Age", Type: "string", Description: "How long ago it was created."},
	}
}

// ConvertToTable implements rest.TableConvertor.
func (t table) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	s, ok := object.(*visibility.PendingWorkloadsSummary)
	if !ok {
		return nil, fmt.Errorf("%T has no table", object)
	}
	out := &metav1.Table{}
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		out.ColumnDefinitions = columns()
	}
	for i := range s.Items {
		w := &s.Items[i]
		out.Rows = append(out.Rows, metav1.TableRow{
			Cells: []any{
				int64(w.PositionInClusterQueue), w.Namespace, w.Name, w.LocalQueueName, int64(w.PositionInLocalQueue), int64(w.Priority),
				duration.HumanDuration(t.clock.Since(w.CreationTimestamp.Time)),
			},
			// A client may ask for the object of a row, or its metadata.
			Object: runtime.RawExtension{Object: &visibility.PendingWorkloadsSummary{ObjectMeta: w.ObjectMeta, Items: s.Items[i : i+1]}},
		})
	}
	return out, nil
}
