package fleet

import (
	"reflect"
	"sync/atomic"
	"time"

	"switchyard.dev/admissioncheck/multikueue/wire"
)

// memorySize is roughly what a value takes in memory, with all that it leads to. It must not lead to itself.
func memorySize(value any) int64 {
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return 0
	}
	return int64(v.Type().Size()) + referencedSize(v)
}

// referencedSize is what a value leads to, without what it is itself.
func referencedSize(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + referencedSize(v.Elem())
	case reflect.Struct:
		var sum int64
		for i := range v.NumField() {
			sum += referencedSize(v.Field(i))
		}
		return sum
	case reflect.Slice, reflect.Array:
		return referencedListSize(v)
	case reflect.Map:
		var sum int64
		for entries := v.MapRange(); entries.Next(); {
			key, value := entries.Key(), entries.Value()
			sum += int64(key.Type().Size()+value.Type().Size()) + referencedSize(key) + referencedSize(value)
		}
		return sum
	default:
		return 0
	}
}

// referencedListSize returns the memory that the elements of a list or array refer to, in bytes, and that of a slice's own
// array.
func referencedListSize(v reflect.Value) int64 {
	var sum int64
	if v.Kind() == reflect.Slice {
		sum = int64(v.Cap()) * int64(v.Type().Elem().Size())
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return sum
	}
	for i := range v.Len() {
		sum += referencedSize(v.Index(i))
	}
	return sum
}

const (
	// memoryBase is what may be kept in memory of one cluster, in bytes, whatever the hub has placed there: its queues, and some
	// 10,000 Workloads with their jobs of which the hub knows nothing any more.
	memoryBase = 48 << 20
	// memoryPerWorkload is what comes to it for each Workload of the hub that names the cluster or looks for one: a copy and its job take
	// some 6 KiB, and more where a topology is assigned.
	memoryPerWorkload = 16 << 10
	// memoryPerAddedKind comes to that where kinds were added: their jobs have no Go types, and are kept with their pod templates.
	memoryPerAddedKind = 64 << 10
	// memoryLimitTTL is how long an allowance counts before it is worked out anew.
	memoryLimitTTL = time.Second
)

// memoryUsage are what is kept of one cluster by one session, in bytes.
type memoryUsage struct {
	bytes atomic.Int64
	// limit is the allowance when it was worked out last, at a time in nanoseconds.
	limit, limitComputedAt atomic.Int64
}

// addMemoryUsage counts what is kept more, or less, and ends the session if that is too much.
func (s *session) addMemoryUsage(more int64) {
	if kept := s.memoryUsage.bytes.Add(more); more > 0 {
		_ = s.checkMemoryLimit(kept) // it has ended the session
	}
}

// checkMemoryLimit ends the session if what is kept of the cluster, or about to be, is too much.
func (s *session) checkMemoryLimit(kept int64) error {
	kept += s.deletedObjects.totalBytes()
	if kept <= memoryBase {
		return nil
	}
	most := s.memoryLimit()
	if kept <= most {
		return nil
	}
	err := wire.Exceeded("its objects that bear this hub's origin, and its queues, need more than the %d MiB of memory that what the hub "+
		"has placed there accounts for; remove what is not of this hub", most>>20)
	s.endExceeded(err)
	return err
}

// memoryLimit is what may be kept of the cluster.
func (s *session) memoryLimit() int64 {
	now := s.options.Clock.Now()
	if at := s.memoryUsage.limitComputedAt.Load(); at != 0 && now.Sub(time.Unix(0, at)) < memoryLimitTTL {
		return s.memoryUsage.limit.Load()
	}
	seekers, others := s.options.AffectedWorkloads(s.name)
	each := int64(memoryPerWorkload)
	if len(s.options.kinds.listAdded()) > 0 {
		each += memoryPerAddedKind
	}
	most := memoryBase + each*int64(len(seekers)+len(others))
	s.memoryUsage.limit.Store(most)
	s.memoryUsage.limitComputedAt.Store(now.UnixNano())
	return most
}
