package order

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func FuzzSortKeys(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 1, 2, 0, 7, 200, 9, 3, 0, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		var keys []Key
		for i := 0; i+3 < len(data); i += 4 {
			keys = append(keys, Key{
				High: uint64(data[i])<<32 | uint64(data[i+1]), Low: uint64(data[i+2])<<56 | uint64(data[i+3]), Index: int32(i),
			})
		}
		want := slices.Clone(keys)
		slices.SortStableFunc(want, func(a, b Key) int { return cmp.Or(cmp.Compare(a.High, b.High), cmp.Compare(a.Low, b.Low)) })
		SortKeys(keys)
		if diff := gocmp.Diff(want, keys); diff != "" {
			t.Error(diff)
		}
	})
}
