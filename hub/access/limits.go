package access

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Limits on what is under way in one program.
const (
	// maxReads is how many gets and lists are under way on one worker, maxStreams how many watches, logs and connections one caller has, and
	// maxAllStreams how many all callers have.
	maxReads      = 64
	maxStreams    = 256
	maxAllStreams = 2048
	// maxAnswers is how much memory answers of workers take, in bytes.
	maxAnswers = 192 << 20
)

// limits bound what is under way.
type limits struct {
	reads, streams shares
}

func newLimits() *limits {
	return &limits{
		reads:   shares{what: "reads of the worker", each: maxReads, total: maxReads * 64},
		streams: shares{what: "open streams of the user", each: maxStreams, total: maxAllStreams},
	}
}

// shares count what is under way by key.
type shares struct {
	what        string
	each, total int

	mu  sync.Mutex
	all int
	by  map[string]int
}

// enter counts one more, until leave is called. An error says that there are too many.
func (s *shares) enter(key string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[key] >= s.each || s.all >= s.total {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("too many %s %q at a time: %d, and %d of all; try again", s.what, key, s.by[key], s.all), 1)
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.by[key]++
	s.all++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.by[key]--; s.by[key] == 0 {
			delete(s.by, key)
		}
	}), nil
}
