// Package usage keeps the usage of admission fair sharing (contract: kueue-api.md 4.14): how much each LocalQueue has used
// lately, so that the one that used least goes first.
//
// What a LocalQueue consumed follows what it uses with a half-life: once per sampling interval, the old value is kept in
// part and the rest is made up by what is in use at that time. A workload that got quota weighs on its LocalQueue at once,
// by an entry penalty, until it is admitted and the penalty becomes part of what was consumed, or until it loses the quota.
//
// The package is pure. Values are fixed-point numbers and the decay of an interval is computed once, so that the same
// history always gives the same order.
package usage
