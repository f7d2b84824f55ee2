// Package jsonweight tells what a JSON text from outside would take in memory once it is decoded, before it is: its bytes alone say
// little, since two of them may become a kilobyte.
package jsonweight

import (
	"reflect"
	"strings"
)

const (
	// elementWeight is that of an element of a list whose type is not known: a string, a number, an object of no fixed type.
	elementWeight = 128
	// memberWeight is that of a member of an object: most are fields, whose room is counted with the object's list, but those of
	// maps are not.
	memberWeight = 48
	// objectWeight is that of an object which is not an element of a list: what a pointer leads to.
	objectWeight = 64
)

// Weights are what one element of a list takes once it is decoded, by the name of the list's field. Without them two bytes of
// text may become a kilobyte: "{}" is a whole pod template.
type Weights struct {
	byName  map[string]int64
	largest int64
}

// Measure are those of the lists in the types of the given objects. Of fields that share a name the largest counts.
func Measure(objects ...any) Weights {
	w := Weights{byName: map[string]int64{}, largest: elementWeight}
	seen := map[reflect.Type]bool{}
	for _, o := range objects {
		w.add(reflect.TypeOf(o), "", seen)
	}
	return w
}

// add notes what a field of a type holds.
func (w *Weights) add(t reflect.Type, field string, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		w.add(t.Elem(), field, seen)
	case reflect.Slice, reflect.Array:
		size := max(int64(t.Elem().Size()), elementWeight)
		w.byName[field] = max(w.byName[field], size)
		w.largest = max(w.largest, size)
		w.add(t.Elem(), field, seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			w.add(t.Field(i).Type, name, seen)
		}
	default:
	}
}

// element is the weight of an element of the list in a field. One that is written with escapes may be any.
func (w *Weights) element(field []byte, known bool) int64 {
	if !known {
		return max(w.largest, elementWeight)
	}
	return max(w.byName[string(field)], elementWeight)
}
