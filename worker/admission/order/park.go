package order

import "slices"

// Aside says what takes a parked kind back into the line.
type Aside[C any] struct {
	// Until is what the kind waits for; WakeIf is asked about it.
	Until C
	// Ranked kinds may do better for a member of a better rank.
	Ranked bool
}

// Park takes the head and all of its kind aside until they are woken. It returns those to be told: everybody of the kind that
// was not told the same reason before, and the head unless it was told the very same, by rank. The line must have a head. A head that is stuck although
// others of its kind rank before it, which may do better, only loses its place.
func (l *Line[T, R, C]) Park(n Notice[R], aside Aside[C]) []*Member[T, R, C] {
	head := l.Head()
	k := head.kind
	if l.stuck != nil && l.stuck.kind == k {
		l.stuck = nil
		if aside.Ranked && k.lead.member != head {
			return []*Member[T, R, C]{head}
		}
	}
	l.deactivate(k)
	k.parked, k.at = true, len(l.parked)
	k.Aside, k.seen = aside, head.rank
	l.parked = append(l.parked, k)
	l.nActive -= k.members.Len()
	l.nAside += k.members.Len()
	if k.said.Because != n.Because {
		k.distrust()
	}
	again := k.said != n
	k.said = n
	if head.told && again {
		head.told = false
		k.fresh = append(k.fresh, head)
	}
	return k.tell()
}

// Wake makes everybody active again and unblocks the line.
func (l *Line[T, R, C]) Wake() {
	l.blocked = nil
	for _, k := range l.parked {
		k.parked = false
		l.activate(k)
	}
	clear(l.parked)
	l.parked = l.parked[:0]
	l.nActive, l.nAside = l.nActive+l.nAside, 0
}

// WakeIf makes those active again whose wait is over, as over says of what they wait for; the head that blocks the line is
// one of them. It reports whether there was any.
func (l *Line[T, R, C]) WakeIf(over func(C) bool) bool {
	woken := false
	if l.blocked != nil && over(l.until) {
		l.blocked, woken = nil, true
	}
	for i := 0; i < len(l.parked); {
		k := l.parked[i]
		if !over(k.Until) {
			i++
			continue
		}
		l.unpark(k)
		l.nAside, l.nActive = l.nAside-k.members.Len(), l.nActive+k.members.Len()
		l.activate(k)
		woken = true
	}
	return woken
}

// HasNews reports whether News would return something.
func (l *Line[T, R, C]) HasNews() bool {
	return slices.ContainsFunc(l.news, func(k *kind[T, R, C]) bool { return k.parked })
}

// Told is a notice and the members it goes to, by rank.
type Told[T any, R comparable, C any] struct {
	Notice[R]
	// Until is what they wait for.
	Until   C
	Members []*Member[T, R, C]
}

// News returns those who joined kinds that were parked already, with what their kind was told, and forgets them.
func (l *Line[T, R, C]) News() []Told[T, R, C] {
	var told []Told[T, R, C]
	for _, k := range l.news {
		k.announced = false
		if !k.parked {
			continue
		}
		if members := k.tell(); len(members) > 0 {
			told = append(told, Told[T, R, C]{Notice: k.said, Until: k.Until, Members: members})
		}
	}
	clear(l.news)
	l.news = l.news[:0]
	return told
}

func (l *Line[T, R, C]) announce(k *kind[T, R, C]) {
	if !k.announced {
		k.announced = true
		l.news = append(l.news, k)
	}
}

// unpark takes the kind off the list of those parked.
func (l *Line[T, R, C]) unpark(k *kind[T, R, C]) {
	last := l.parked[len(l.parked)-1]
	l.parked[k.at], last.at = last, k.at
	clear(l.parked[len(l.parked)-1:])
	l.parked = l.parked[:len(l.parked)-1]
	k.parked = false
}
