package stream

import (
	"bytes"

	"sigs.k8s.io/json"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/jsontext"
)

// decodeWorkload decodes the text of a Workload, without its managed fields and, as a decoder without versions does, without its
// apiVersion and kind. It returns false if the text has anything that a Workload of the API server would not have.
func decodeWorkload(text []byte) (*kueue.Workload, bool) {
	wl := &kueue.Workload{}
	var metadata, spec, status []byte
	isWorkload := 0
	ok := jsontext.Members(text, func(name, value []byte) bool {
		part := (*[]byte)(nil)
		switch string(name) {
		case "apiVersion":
			isWorkload++
			return string(value) == `"`+kueue.GroupName+`/v1beta2"`
		case "kind":
			isWorkload++
			return string(value) == `"Workload"`
		case "metadata":
			part = &metadata
		case "spec":
			part = &spec
		case "status":
			part = &status
		}
		if part == nil || *part != nil {
			return false
		}
		*part = value
		return true
	})
	if !ok || isWorkload != 2 || metadata == nil {
		return nil, false
	}
	if metadata, ok = withoutManagedFields(metadata); !ok || !decode(metadata, &wl.ObjectMeta) {
		return nil, false
	}
	return wl, (spec == nil || decode(spec, &wl.Spec)) && (status == nil || decode(status, &wl.Status))
}

// withoutManagedFields returns the metadata without its managed fields, which are most of it. They are the only part of a text that no
// decoder checks, and they are thrown away.
func withoutManagedFields(metadata []byte) ([]byte, bool) {
	short := append(make([]byte, 0, 1024), '{')
	ok := jsontext.Members(metadata, func(name, value []byte) bool {
		if string(name) == "managedFields" {
			return true
		}
		if len(short) > 1 {
			short = append(short, ',')
		}
		short = append(append(append(short, '"'), name...), '"', ':')
		short = append(short, value...)
		return true
	})
	return append(short, '}'), ok
}

// decode decodes a part as the general decoder decodes the whole; null is nothing.
func decode(text []byte, into any) bool {
	return bytes.Equal(text, []byte("null")) || json.UnmarshalCaseSensitivePreserveInts(text, into) == nil
}
