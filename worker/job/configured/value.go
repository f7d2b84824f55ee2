package configured

import (
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// What an expression may return at most. A value that contains itself many times over is small in memory, and not written out.
const (
	maxValues = 100_000
	maxDepth  = 64
	maxBytes  = 1 << 20
)

var errTooLarge = errors.New("the expression returned too much")

// toJSON makes of a value of CEL what JSON has for it: nil, a boolean, an int64, a float64, a string, a list or a map.
func toJSON(value ref.Val) (any, error) {
	c := converter{values: maxValues, bytes: maxBytes}
	return c.convert(value, 0)
}

// converter counts what is left of the limits.
type converter struct{ values, bytes int }

func (c *converter) convert(value ref.Val, depth int) (any, error) {
	if c.values--; c.values < 0 || depth > maxDepth {
		return nil, errTooLarge
	}
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("%d is too large a number", uint64(v))
		}
		return int64(v), nil
	case types.Double:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("the expression returned no number")
		}
		return float64(v), nil
	case types.String:
		return string(v), c.take(string(v))
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return c.convert(v.GetValue(), depth+1)
	case traits.Mapper:
		return c.convertMap(v, depth)
	case traits.Lister:
		return c.convertList(v, depth)
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a value of type %s cannot be used", value.Type().TypeName())
}

// take counts the bytes of a text.
func (c *converter) take(text string) error {
	if c.bytes -= len(text); c.bytes < 0 {
		return errTooLarge
	}
	return nil
}

func (c *converter) convertMap(m traits.Mapper, depth int) (any, error) {
	result := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("a key of a map is of type %s, and not a string", key.Type().TypeName())
		}
		if err := c.take(string(name)); err != nil {
			return nil, err
		}
		value, err := c.convert(m.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		result[string(name)] = value
	}
	return result, nil
}

func (c *converter) convertList(l traits.Lister, depth int) (any, error) {
	result := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := c.convert(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		result = append(result, value)
	}
	return result, nil
}

// toInt is a whole number of JSON, which some decoders make a float.
func toInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// describe names the type of a value in words of JSON.
func describe(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return fmt.Sprintf("a %T", value)
}
