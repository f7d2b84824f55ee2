package amount

import (
	"strconv"
)

// Unit is the scale in which amounts of a resource count.
type Unit int

const (
	// BaseUnit counts whole base units: bytes, devices, pods.
	BaseUnit Unit = iota
	// Milli counts thousandths; only cpu does.
	Milli
)

// CPU is the resource whose amounts count in Milli.
const CPU = "cpu"

// Pods is the resource that every pod implicitly requests one of, when a queue covers it (contract: kueue-api.md 4.6).
const Pods = "pods"

// UnitOf returns the unit in which amounts of the resource count.
func UnitOf(resource string) Unit {
	if resource == CPU {
		return Milli
	}
	return BaseUnit
}

// Format writes an amount of the resource the way a manifest would: 1500 of cpu is "1500m", 4294967296 of memory "4Gi".
func Format(resource string, a Amount) string {
	if a == Unlimited {
		return "<unlimited>"
	}
	if UnitOf(resource) == Milli {
		if a%1000 == 0 {
			return strconv.FormatInt(int64(a/1000), 10)
		}
		return strconv.FormatInt(int64(a), 10) + "m"
	}
	return formatBinary(a)
}

// formatBinary uses the largest binary suffix that keeps the number whole; anything below 1Ki, or odd, stays plain.
func formatBinary(a Amount) string {
	suffixes := [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	i := 0
	for a != 0 && a%1024 == 0 && i < len(suffixes)-1 {
		a /= 1024
		i++
	}
	return strconv.FormatInt(int64(a), 10) + suffixes[i]
}
