package podrequests

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"switchyard.dev/worker/admission/amount"
)

func TestAQuantityIsCountedInItsUnitAndRoundedUp(t *testing.T) {
	for _, tc := range []struct {
		resource, quantity string
		want               amount.Amount
	}{
		{"cpu", "2", 2000},
		{"cpu", "1500m", 1500},
		{"cpu", "100u", 1},
		{"memory", "4Gi", 4 << 30},
		{"memory", "1500m", 2},
		{"memory", "1e3", 1000},
		{"nvidia.com/gpu", "3", 3},
		{"nvidia.com/gpu", "0", 0},
		{"memory", "-1500m", -1},
		{"memory", "100E", amount.Unlimited},
		{"memory", "-100E", math.MinInt64},
		{"cpu", "10P", amount.Unlimited},
	} {
		if got := ToAmount(tc.resource, resource.MustParse(tc.quantity)); got != tc.want {
			t.Errorf("%s of %s counts %d, want %d", tc.quantity, tc.resource, got, tc.want)
		}
	}
}

func TestAnAmountIsWrittenAsAManifestWould(t *testing.T) {
	for _, tc := range []struct {
		resource string
		amount   amount.Amount
		want     string
	}{
		{"cpu", 2000, "2"},
		{"cpu", 1500, "1500m"},
		{"memory", 4 << 30, "4Gi"},
		{"hugepages-2Mi", 2 << 20, "2Mi"},
		{"nvidia.com/gpu", 1024, "1024"},
		{"pods", 0, "0"},
	} {
		q := ToQuantity(tc.resource, tc.amount)
		if got := q.String(); got != tc.want {
			t.Errorf("%d of %s is written %s, want %s", tc.amount, tc.resource, got, tc.want)
		}
	}
}

func FuzzAQuantityOfAnAmountIsThatAmount(f *testing.F) {
	f.Add("cpu", int64(1500))
	f.Add("memory", int64(1<<40))
	f.Add("pods", int64(-3))
	f.Fuzz(func(t *testing.T, name string, n int64) {
		if got := ToAmount(name, ToQuantity(name, amount.Amount(n))); got != amount.Amount(n) {
			t.Errorf("%d of %q comes back as %d", n, name, got)
		}
	})
}

func TestAResourceListComesBackFromItsVector(t *testing.T) {
	list := corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"), "gpu": resource.MustParse("2")}
	if diff := cmp.Diff(list, ToResourceList(ToVector(list))); diff != "" {
		t.Error(diff)
	}
}
