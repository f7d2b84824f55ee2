package jsonweight

import (
	"bytes"
	"fmt"
)

// MaxDepth is how deep objects and lists may nest.
const MaxDepth = 1000

// Scanner weighs JSON as it comes by, without keeping it. What is no JSON weighs what its bytes do.
type Scanner struct {
	Weights Weights
	// Ended, optional, is called when an outermost value has ended, and makes the weight start anew: for streams, whose values come
	// one after the other.
	Ended func()

	weight int64   // of the value so far
	open   []int64 // of each list that is open, what an element weighs; notList for an object
	text   bool    // within a string
	escape bool    // after a backslash in it
	member bool    // the last string was followed by a colon, and nothing else since
	name   [maxName]byte
	length int // of the last string; beyond maxName it is the name of no field
	plain  bool
}

const (
	notList = -1
	// maxName is longer than the names of all fields that are weighed.
	maxName = 40
)

// Weight is that of what was fed, or of the value that has not ended yet.
func (s *Scanner) Weight() int64 { return s.weight }

// Feed takes the next bytes. False means that they nest too deep.
func (s *Scanner) Feed(p []byte) bool {
	for i := 0; i < len(p); i++ {
		s.weight += 2
		if s.text {
			i += s.string(p[i:])
			continue
		}
		if !s.token(p[i]) {
			return false
		}
	}
	return true
}

// string takes bytes of a string and returns how many besides the first it took.
func (s *Scanner) string(p []byte) int {
	if s.escape {
		s.escape = false
		return 0
	}
	switch p[0] {
	case '\\':
		s.escape, s.plain = true, false
		return 0
	case '"':
		s.text = false
		return 0
	}
	end := bytes.IndexAny(p, `"\`)
	if end < 0 {
		end = len(p)
	}
	if s.length < maxName {
		copy(s.name[s.length:], p[:end])
	}
	s.length += end
	s.weight += 2 * int64(end-1)
	return end - 1
}

// token takes a byte that is not within a string.
func (s *Scanner) token(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r':
		return true
	case ':':
		s.member = true
		return true
	case '"':
		s.text, s.length, s.plain = true, 0, true
	case '{':
		s.weight += objectWeight
		s.open = append(s.open, notList)
	case '[':
		each := s.each()
		s.weight += each
		s.open = append(s.open, each)
	case ',':
		s.next()
	case '}', ']':
		s.close()
	}
	s.member = false
	return len(s.open) <= MaxDepth
}

// each is what an element of the list that begins weighs.
func (s *Scanner) each() int64 {
	if !s.member {
		return elementWeight
	}
	known := s.plain && s.length <= maxName
	return s.Weights.element(s.name[:min(s.length, maxName)], known)
}

// next counts what follows a comma.
func (s *Scanner) next() {
	if len(s.open) == 0 {
		return
	}
	if each := s.open[len(s.open)-1]; each != notList {
		s.weight += each
		return
	}
	s.weight += memberWeight
}

func (s *Scanner) close() {
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 && s.Ended != nil {
		s.Ended()
		s.weight = 0
	}
}

// errDeep is what Write fails with.
var errDeep = fmt.Errorf("it nests deeper than %d levels", MaxDepth)

// Write implements io.Writer, which fails where Feed does.
func (s *Scanner) Write(p []byte) (int, error) {
	if !s.Feed(p) {
		return 0, errDeep
	}
	return len(p), nil
}
