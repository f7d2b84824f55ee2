package usage

import (
	"strconv"
	"testing"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

func BenchmarkAnAdmissionsPenalty(b *testing.B) {
	l := NewLedger(Options{HalfLife: interval, Interval: interval})
	for i := range 1000 {
		l.Open(epoch, admission.Key{Namespace: "ns", Name: strconv.Itoa(i)}, quota.Weight{}, Account{})
	}
	local := admission.Key{Namespace: "ns", Name: "500"}
	request := amount.NewVector(cpu(1000), gpu(8))
	b.ReportAllocs()
	for b.Loop() {
		l.Advance(epoch, nil)
		l.Enter(job, local, request)
		l.Changes()
		l.Settle(job)
	}
}
