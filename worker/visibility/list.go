package visibility

import (
	"sync"

	"switchyard.dev/worker/admission"
)

// list is what waits in a ClusterQueue, in order. What concerns LocalQueues is found when it is first asked for, and only as far as
// that: of a long list, most ask for the beginning.
type list struct {
	*admission.PendingList

	mu sync.Mutex
	// inLocalQueue has, for each of the first workloads, how many of its LocalQueue are before it.
	inLocalQueue []int32
	// ofLocalQueue has the positions of the first workloads, by LocalQueue.
	ofLocalQueue map[admission.Key][]int32
}

func newList(l *admission.PendingList) *list {
	return &list{PendingList: l, ofLocalQueue: map[admission.Key][]int32{}}
}

// place is a position in the list, and the one among those of the same LocalQueue.
type place struct{ position, inLocalQueue int32 }

// places returns the places from begin to before end.
func (l *list) places(begin, end int) []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index(end)
	places := make([]place, 0, end-begin)
	for i := begin; i < end; i++ {
		places = append(places, place{int32(i), l.inLocalQueue[i]})
	}
	return places
}

// positionsOf returns the positions of the workloads of a LocalQueue. They must not be changed.
func (l *list) positionsOf(local admission.Key) []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index(l.Len())
	return l.ofLocalQueue[local]
}

// index finds the places of the first n workloads in their LocalQueues.
func (l *list) index(n int) {
	for i := len(l.inLocalQueue); i < n; i++ {
		w := l.At(i)
		local := admission.Key{Namespace: w.Namespace, Name: w.LocalQueue}
		of := l.ofLocalQueue[local]
		l.inLocalQueue = append(l.inLocalQueue, int32(len(of)))
		l.ofLocalQueue[local] = append(of, int32(i))
	}
}
