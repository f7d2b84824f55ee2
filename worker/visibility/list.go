package visibility

import (
	"sync"

	"switchyard.dev/worker/admission"
)

// earlyPlaces are how many places at the beginning of a list are found without looking at all of it: most ask for no more.
const earlyPlaces = 2000

// list is what waits in a ClusterQueue, in order. What concerns LocalQueues is found when it is first asked for.
type list struct {
	*admission.PendingList

	mu sync.Mutex
	// early has, for each of the first workloads, how many of its LocalQueue are before it.
	early []int32
	// all has the same for every workload; nil until it is asked for.
	all []int32
	// ordinals are the LocalQueues of all workloads by number, and numbers those of the LocalQueues; nil until they are asked for.
	ordinals []int32
	numbers  map[admission.Key]int32
	// ofLocalQueue are the positions of the workloads of the LocalQueues that were asked for.
	ofLocalQueue map[admission.Key][]int32
}

func newList(l *admission.PendingList) *list { return &list{PendingList: l} }

// place is a position in the list, and the one among those of the same LocalQueue.
type place struct{ position, inLocalQueue int32 }

// places returns the places from begin to before end.
func (l *list) places(begin, end int) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	inLocalQueue := l.all
	if inLocalQueue == nil && end <= earlyPlaces {
		inLocalQueue = l.findEarly()
	} else if inLocalQueue == nil {
		l.findAll()
		inLocalQueue = l.all
	}
	places := make([]place, 0, end-begin)
	for i := begin; i < end; i++ {
		places = append(places, place{int32(i), inLocalQueue[i]})
	}
	return places
}

// positionsOf returns the positions of the workloads of a LocalQueue. They must not be changed.
func (l *list) positionsOf(local admission.Key) []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, found := l.ofLocalQueue[local]; found {
		return known
	}
	l.findOrdinals()
	number, found := l.numbers[local]
	if !found {
		return nil
	}
	var positions []int32
	for i, n := range l.ordinals {
		if n == number {
			positions = append(positions, int32(i))
		}
	}
	l.ofLocalQueue[local] = positions
	return positions
}

// findEarly finds the places of the first workloads in their LocalQueues, and no others.
func (l *list) findEarly() []int32 {
	if l.early == nil {
		counts := map[admission.Key]int32{}
		l.early = make([]int32, 0, min(earlyPlaces, l.Len()))
		for i := range cap(l.early) {
			w := l.At(i)
			local := admission.Key{Namespace: w.Namespace, Name: w.LocalQueue}
			l.early = append(l.early, counts[local])
			counts[local]++
		}
	}
	return l.early
}

// findAll finds the places of all workloads in their LocalQueues.
func (l *list) findAll() {
	l.findOrdinals()
	counts := make([]int32, len(l.numbers))
	l.all = make([]int32, len(l.ordinals))
	for i, local := range l.ordinals {
		l.all[i] = counts[local]
		counts[local]++
	}
}

// findOrdinals finds the LocalQueues of all workloads.
func (l *list) findOrdinals() {
	if l.ordinals != nil {
		return
	}
	var localQueues []admission.Key
	l.ordinals, localQueues = l.LocalQueueOrdinals()
	l.numbers, l.ofLocalQueue = make(map[admission.Key]int32, len(localQueues)), map[admission.Key][]int32{}
	for number, local := range localQueues {
		l.numbers[local] = int32(number)
	}
}
