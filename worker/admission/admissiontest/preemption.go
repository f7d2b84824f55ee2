package admissiontest

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

// parsePreemptionWord reads a word about preemption and fair sharing of a queue and reports whether it was one.
func parsePreemptionWord(q *admission.ClusterQueue, key, value string) (bool, error) {
	var err error
	switch key {
	case "preempt":
		q.Preemption.WithinQueue = admission.PreemptionPolicy(value)
	case "reclaim":
		q.Preemption.ReclaimWithinCohort = admission.PreemptionPolicy(value)
	case "borrow-within":
		policy, threshold, bounded := strings.Cut(value, ":")
		q.Preemption.BorrowWithinCohort = admission.PreemptionPolicy(policy)
		if bounded {
			n, wrong := strconv.Atoi(threshold)
			bound := int32(n)
			q.Preemption.BorrowThreshold, err = &bound, wrong
		}
	case "weight":
		q.Weight, err = parseWeight(value)
	case "usage-based":
		q.UsageBased = true
	default:
		return false, nil
	}
	return true, err
}

// parseWeight reads a decimal number of at most nine places.
func parseWeight(text string) (quota.Weight, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return quota.Weight{}, fmt.Errorf("weight %q is no number", text)
	}
	r.Mul(r, big.NewRat(quota.UnitWeight, 1))
	if !r.IsInt() || !r.Num().IsInt64() || r.Sign() < 0 {
		return quota.Weight{}, fmt.Errorf("weight %q is no number of billionths", text)
	}
	return quota.NewWeight(r.Num().Int64()), nil
}

func (s *Step) parseUsage(words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("usage needs an amount")
	}
	if words[0] == "unlimited" {
		s.Usage = amount.Unlimited
		return nil
	}
	n, err := strconv.Atoi(words[0])
	s.Usage = amount.Amount(n)
	return err
}

// parseReservationWord reads a word about a workload that holds quota.
func parseReservationWord(r *admission.Reservation, key, value string) error {
	n, err := strconv.Atoi("0" + value)
	switch key {
	case "prio":
		n, err = strconv.Atoi(value)
		r.Priority = int32(n)
	case "at":
		r.QueuedAt = TimeAt(n)
	case "since":
		r.ReservedAt = TimeAt(n)
	case "uid":
		r.UID, err = value, nil
	case "evicted":
		r.Evicted = true
	case "ready":
		r.PodsReady = true
	default:
		return fmt.Errorf("a reservation knows no %q", key)
	}
	return err
}
