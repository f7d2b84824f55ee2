package show

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"switchyard.dev/worker/kube"
)

// wide marks columns that are shown with "-o wide" only: kubectl's printers hide every priority but 0.
const wide = 1

// column is a column of a table; its name as kubectl's printers want it, in mixed case.
func column(name string, priority int32) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Priority: priority}
}

// plain are columns that are always shown.
func plain(names ...string) []metav1.TableColumnDefinition {
	var columns []metav1.TableColumnDefinition
	for _, name := range names {
		columns = append(columns, column(name, 0))
	}
	return columns
}

// row is one of a table. What clusters say cannot leave its cell, nor steer a terminal.
func row(cells ...any) metav1.TableRow {
	for i, cell := range cells {
		if text, is := cell.(string); is {
			cells[i] = kube.SanitizeForTerminal(text)
		}
	}
	return metav1.TableRow{Cells: cells}
}

// indentTable puts the namespace first, for tables over all namespaces.
func indentTable(table *metav1.Table, namespaces []string) {
	table.ColumnDefinitions = append(plain("Namespace"), table.ColumnDefinitions...)
	for i, namespace := range namespaces {
		table.Rows[i].Cells = append([]any{namespace}, table.Rows[i].Cells...)
	}
}

// age is the time since then as kubectl has it.
func age(now time.Time, then metav1.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then.Time))
}

// orNone is a text, or kubectl's word for none.
func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
