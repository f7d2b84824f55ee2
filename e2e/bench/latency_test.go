package bench

import (
	"testing"
	"time"
)

func TestQuantileIsAnObservedValue(t *testing.T) {
	hundred := make([]time.Duration, 0, 100)
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		name string
		of   []time.Duration
		q    float64
		want time.Duration
	}{
		{"the median of a hundred is the fiftieth", hundred, 0.5, 50},
		{"p99 of a hundred is the ninety-ninth", hundred, 0.99, 99},
		{"the maximum is the last", hundred, 1, 100},
		{"of one it is that one", []time.Duration{7}, 0.5, 7},
		{"of none it is zero", nil, 0.5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := quantile(c.of, c.q); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
