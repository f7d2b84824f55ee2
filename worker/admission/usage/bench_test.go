package usage

import (
	"strconv"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

func BenchmarkPenalty(b *testing.B) {
	l := NewTracker(Options{HalfLife: interval, Interval: interval})
	for i := range 1000 {
		l.AddLocalQueue(epoch, admission.Key{Namespace: "ns", Name: strconv.Itoa(i)}, quota.Weight{}, LocalQueueUsage{})
	}
	local := admission.Key{Namespace: "ns", Name: "500"}
	request := amount.NewVector(cpu(1000), gpu(8))
	b.ReportAllocs()
	for b.Loop() {
		l.Sample(epoch, nil)
		l.AddPenalty(job, local, request)
		l.TakeChanges()
		l.ConsumePenalty(job)
	}
}
