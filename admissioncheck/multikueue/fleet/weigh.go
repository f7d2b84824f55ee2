package fleet

import "reflect"

// weigh is roughly what a value takes in memory, with all that it leads to. It must not lead to itself.
func weigh(value any) int64 {
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return 0
	}
	return int64(v.Type().Size()) + beyond(v)
}

// beyond is what a value leads to, without what it is itself.
func beyond(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + beyond(v.Elem())
	case reflect.Struct:
		var sum int64
		for i := range v.NumField() {
			sum += beyond(v.Field(i))
		}
		return sum
	case reflect.Slice, reflect.Array:
		return beyondList(v)
	case reflect.Map:
		var sum int64
		for entries := v.MapRange(); entries.Next(); {
			key, value := entries.Key(), entries.Value()
			sum += int64(key.Type().Size()+value.Type().Size()) + beyond(key) + beyond(value)
		}
		return sum
	default:
		return 0
	}
}

func beyondList(v reflect.Value) int64 {
	var sum int64
	if v.Kind() == reflect.Slice {
		sum = int64(v.Cap()) * int64(v.Type().Elem().Size())
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return sum
	}
	for i := range v.Len() {
		sum += beyond(v.Index(i))
	}
	return sum
}
