package show

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Events is the table of what happened on clusters, the oldest first.
func Events(happened map[string][]Event, now time.Time) *metav1.Table {
	type on struct {
		cluster string
		Event
	}
	var all []on
	for cluster, events := range happened {
		for _, e := range events {
			all = append(all, on{cluster, e})
		}
	}
	slices.SortFunc(all, func(a, b on) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	table := &metav1.Table{ColumnDefinitions: plain("Last Seen", "Cluster", "Type", "Reason", "Object", "Message")}
	for _, e := range all {
		table.Rows = append(table.Rows, row(age(now, metav1.NewTime(e.At)), e.cluster, e.Type, e.Reason, e.Object, e.Message))
	}
	return table
}
