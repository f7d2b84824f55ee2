package fleet

import "reflect"

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
