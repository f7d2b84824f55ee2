package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"switchyard.dev/worker/kube"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// envelope is what is read of an object: whose it is.
type envelope struct {
	metav1.ObjectMeta `json:"metadata"`

	// InvolvedObject and Regarding are what an event is about, in the older and in the newer API.
	InvolvedObject *corev1.ObjectReference `json:"involvedObject,omitempty"`
	Regarding      *corev1.ObjectReference `json:"regarding,omitempty"`
}

// subject is what an event is about; nil if it is about nothing.
func (e *envelope) subject() *corev1.ObjectReference {
	if e.Regarding != nil {
		return e.Regarding
	}
	return e.InvolvedObject
}

// table is an answer in rows.
type table struct {
	metav1.TypeMeta   `json:",inline"`
	Metadata          listMetadata      `json:"metadata"`
	ColumnDefinitions []json.RawMessage `json:"columnDefinitions,omitempty"`
	Rows              []json.RawMessage `json:"rows"`
}

// tableRow is one row; what is not read here is kept as it is.
type tableRow struct {
	Cells      []json.RawMessage `json:"cells"`
	Conditions json.RawMessage   `json:"conditions,omitempty"`
	Object     json.RawMessage   `json:"object,omitempty"`
}

// listMetadata is what is read of a list's metadata.
type listMetadata struct {
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Continue        string `json:"continue,omitempty"`
}

// page is one page of a list, or a table, or a single object.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	Metadata          listMetadata      `json:"metadata"`
	ColumnDefinitions []json.RawMessage `json:"columnDefinitions,omitempty"`
	Rows              []json.RawMessage `json:"rows,omitempty"`
	Items             []json.RawMessage `json:"items,omitempty"`
}

const tableKind = "Table"

var errNoObject = errors.New("there is no object in it")

// metadataOf reads whose an object is. An object in a table is that of its only row.
func metadataOf(raw json.RawMessage) (*envelope, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("read an object's kind: %w", err)
	}
	if kind.Kind == tableKind {
		var t table
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("read a table: %w", err)
		}
		if len(t.Rows) != 1 {
			return nil, errNoObject
		}
		return rowMetadata(t.Rows[0])
	}
	return itemMetadata(raw)
}

// itemMetadata reads whose an item of a list is, rowMetadata whose a row of a table.
func itemMetadata(raw json.RawMessage) (*envelope, error) {
	e := &envelope{}
	if err := json.Unmarshal(raw, e); err != nil {
		return nil, fmt.Errorf("read an object's metadata: %w", err)
	}
	if e.Name == "" {
		return nil, errNoObject
	}
	return e, nil
}

func rowMetadata(raw json.RawMessage) (*envelope, error) {
	var row tableRow
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, fmt.Errorf("read a row: %w", err)
	}
	return itemMetadata(row.Object)
}

// clusterColumn is the column of a table that says on which worker a pod runs.
var clusterColumn = json.RawMessage(`{"name":"Cluster","type":"string","format":"","description":"The worker that runs it","priority":0}`)

// addClusterCell puts the worker's name at the end of a row.
func addClusterCell(raw json.RawMessage, cluster string) (json.RawMessage, error) {
	var row tableRow
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, fmt.Errorf("read a row: %w", err)
	}
	name, err := json.Marshal(cluster)
	if err != nil {
		return nil, fmt.Errorf("write a cluster's name: %w", err)
	}
	row.Cells = append(row.Cells, name)
	return json.Marshal(row)
}

// addClusterToTable puts the worker's name into a table of one object.
func addClusterToTable(raw json.RawMessage, cluster string) (json.RawMessage, error) {
	var t table
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("read a table: %w", err)
	}
	for i := range t.Rows {
		row, err := addClusterCell(t.Rows[i], cluster)
		if err != nil {
			return nil, err
		}
		t.Rows[i] = row
	}
	if len(t.ColumnDefinitions) > 0 {
		t.ColumnDefinitions = append(t.ColumnDefinitions, clusterColumn)
	}
	return json.Marshal(t)
}

func isTable(raw json.RawMessage) bool {
	var kind metav1.TypeMeta
	return bytes.Contains(raw[:min(len(raw), 256)], []byte(tableKind)) && json.Unmarshal(raw, &kind) == nil && kind.Kind == tableKind
}

// negotiate returns what a worker is asked for by what the caller accepts; ok is false if that cannot be had. Objects are read here, so
// they come as JSON.
func negotiate(accept string, list bool) (string, bool) {
	if strings.TrimSpace(accept) == "" {
		return acceptJSON, true
	}
	for offer := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(strings.TrimSpace(offer), ";")
		if media = strings.ToLower(strings.TrimSpace(media)); media != acceptJSON && media != "*/*" && media != "application/*" {
			continue
		}
		switch as := parameter(parameters, "as"); as {
		case "":
			return acceptJSON, true
		case tableKind, "PartialObjectMetadata", "PartialObjectMetadataList":
			if isPartial := as != tableKind; isPartial && list != strings.HasSuffix(as, "List") {
				continue
			}
			if parameter(parameters, "g") == metav1.GroupName && parameter(parameters, "v") == "v1" {
				return acceptJSON + ";as=" + as + ";g=meta.k8s.io;v=v1", true
			}
		}
	}
	return "", false
}

func parameter(parameters, name string) string {
	for one := range strings.SplitSeq(parameters, ";") {
		if key, value, _ := strings.Cut(strings.TrimSpace(one), "="); strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// plainText is a text from outside, fit to be shown.
func plainText(text string) string { return kube.Sanitize(text, maxErrorText) }
