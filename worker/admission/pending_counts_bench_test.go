package admission_test

import (
	"strconv"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
)

func BenchmarkPendingCountsOf100000(b *testing.B) {
	s := admission.NewSnapshot()
	for i := range 100_000 {
		queue := strconv.Itoa(i % 1000)
		s.Push(admission.Workload{
			Key: admission.Key{Namespace: "ns", Name: strconv.Itoa(i)}, UID: strconv.Itoa(i), LocalQueue: queue, Queue: queue,
			PodSets: []admission.PodSet{{Name: "main", Count: 2, Requests: amount.NewVector(
				amount.Request{Resource: "cpu", Amount: 1000}, amount.Request{Resource: "gpu", Amount: amount.Amount(i % 3)},
			)}},
		})
	}
	for b.Loop() {
		s.PendingCounts(neverClosed)
	}
}
