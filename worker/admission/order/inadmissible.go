package order

import "slices"

// Inadmissible says what takes an inadmissible class back into the active queue.
type Inadmissible[C any] struct {
	// Until is what the class waits for; WakeIf is asked about it.
	Until C
	// RankSensitive classes may do better for a member of a better rank.
	RankSensitive bool
}

// MarkInadmissible marks the head and all of its class inadmissible until they are requeued. It returns the members to
// notify, by rank: each of the class that did not get the same reason before, and the head unless it got the very same. The
// queue must have a head. A sticky head with better-ranked members of its class behind it, which may do better, only loses
// its place.
func (l *Queue[T, C]) MarkInadmissible(n WaitReason, inadmissible Inadmissible[C]) []*Member[T, C] {
	head := l.Head()
	k := head.class
	if l.stickyHead != nil && l.stickyHead.class == k {
		l.stickyHead = nil
		if inadmissible.RankSensitive && k.head.member != head {
			return []*Member[T, C]{head}
		}
	}
	l.deactivateClass(k)
	k.isInadmissible, k.index = true, len(l.inadmissibleClasses)
	k.Inadmissible, k.headRank = inadmissible, head.rank
	l.inadmissibleClasses = append(l.inadmissibleClasses, k)
	l.activeCount -= k.members.Len()
	l.inadmissibleCount += k.members.Len()
	if k.lastReason.Reason != n.Reason {
		k.resetNotified()
	}
	again := k.lastReason != n
	k.lastReason = n
	if head.notified && again {
		head.notified = false
		k.unnotified = append(k.unnotified, head)
	}
	return k.takeUnnotified()
}

// RequeueAll makes all members active again and unblocks the queue.
func (l *Queue[T, C]) RequeueAll() {
	l.blockingHead = nil
	for _, k := range l.inadmissibleClasses {
		k.isInadmissible = false
		l.activateClass(k)
	}
	clear(l.inadmissibleClasses)
	l.inadmissibleClasses = l.inadmissibleClasses[:0]
	l.activeCount, l.inadmissibleCount = l.activeCount+l.inadmissibleCount, 0
}

// RequeueIf makes those active again whose wait is over, as over says of what they wait for; the head that blocks the queue is
// one of them. It reports whether there was any.
func (l *Queue[T, C]) RequeueIf(over func(C) bool) bool {
	woken := false
	if l.blockingHead != nil && over(l.blockedUntil) {
		l.blockingHead, woken = nil, true
	}
	for i := 0; i < len(l.inadmissibleClasses); {
		k := l.inadmissibleClasses[i]
		if !over(k.Until) {
			i++
			continue
		}
		l.removeInadmissible(k)
		l.inadmissibleCount, l.activeCount = l.inadmissibleCount-k.members.Len(), l.activeCount+k.members.Len()
		l.activateClass(k)
		woken = true
	}
	return woken
}

// HasNotifications reports whether News would return something.
func (l *Queue[T, C]) HasNotifications() bool {
	return slices.ContainsFunc(l.classesToNotify, func(k *EquivalenceClass[T, C]) bool { return k.isInadmissible })
}

// Notification is a notice and the members it goes to, by rank.
type Notification[T, C any] struct {
	WaitReason
	// Until is what they wait for.
	Until   C
	Members []*Member[T, C]
}

// TakeNotifications returns the members that joined classes which were inadmissible already, with the reason of their class,
// and forgets them.
func (l *Queue[T, C]) TakeNotifications() []Notification[T, C] {
	var told []Notification[T, C]
	for _, k := range l.classesToNotify {
		k.notificationQueued = false
		if !k.isInadmissible {
			continue
		}
		if members := k.takeUnnotified(); len(members) > 0 {
			told = append(told, Notification[T, C]{WaitReason: k.lastReason, Until: k.Until, Members: members})
		}
	}
	clear(l.classesToNotify)
	l.classesToNotify = l.classesToNotify[:0]
	return told
}

func (l *Queue[T, C]) queueNotification(k *EquivalenceClass[T, C]) {
	if !k.notificationQueued {
		k.notificationQueued = true
		l.classesToNotify = append(l.classesToNotify, k)
	}
}

// removeInadmissible takes the class off the list of those inadmissible.
func (l *Queue[T, C]) removeInadmissible(k *EquivalenceClass[T, C]) {
	last := l.inadmissibleClasses[len(l.inadmissibleClasses)-1]
	l.inadmissibleClasses[k.index], last.index = last, k.index
	clear(l.inadmissibleClasses[len(l.inadmissibleClasses)-1:])
	l.inadmissibleClasses = l.inadmissibleClasses[:len(l.inadmissibleClasses)-1]
	k.isInadmissible = false
}

// IsInadmissible reports whether the member's class is inadmissible. The member must be in a queue.
func (m *Member[T, C]) IsInadmissible() bool { return m.class.isInadmissible }
