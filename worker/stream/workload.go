package stream

import (
	"bytes"
	"sync"

	"sigs.k8s.io/json"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/jsontext"
)

// remembered is how many bytes of different specs are remembered for sharing. Then it starts over. A spec may have more than
// a megabyte, so that their number would bound nothing.
const remembered = 4 << 20

// specs are specs by their text. They are shared, so that nobody may change one. It is safe for concurrent use.
type specs struct {
	mu    sync.Mutex
	known map[string]kueue.WorkloadSpec
	// size of the texts, in bytes.
	size int
}

func newSpecs() *specs { return &specs{known: map[string]kueue.WorkloadSpec{}} }

func (s *specs) of(text []byte) (kueue.WorkloadSpec, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec, ok := s.known[string(text)]; ok {
		return spec, true
	}
	var spec kueue.WorkloadSpec
	if !decode(text, &spec) {
		return spec, false
	}
	if s.size += len(text); s.size > remembered {
		clear(s.known)
		s.size = len(text)
	}
	s.known[string(text)] = spec
	return spec, true
}

// workload decodes the text of a Workload, without its managed fields and, as a decoder without versions does, without
// saying what it is; false if the text has anything that a Workload of the API server would not have.
func (s *specs) workload(text []byte) (*kueue.Workload, bool) {
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
	if spec != nil {
		if wl.Spec, ok = s.of(spec); !ok {
			return nil, false
		}
	}
	return wl, status == nil || decode(status, &wl.Status)
}

// withoutManagedFields returns the metadata without what is by far its greatest part.
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
