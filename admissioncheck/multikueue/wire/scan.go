package wire

import "bytes"

// scanner weighs JSON as it comes by, without keeping it. What is no JSON weighs what its bytes do.
type scanner struct {
	weights Weights
	// ended is called when an outermost value has ended, and makes it start anew: for watches, whose events come one after the
	// other.
	ended func(weight int64)

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

// feed takes the next bytes. False means that they nest too deep.
func (s *scanner) feed(p []byte) bool {
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
func (s *scanner) string(p []byte) int {
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
func (s *scanner) token(c byte) bool {
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
func (s *scanner) each() int64 {
	if !s.member {
		return elementWeight
	}
	known := s.plain && s.length <= maxName
	return s.weights.element(s.name[:min(s.length, maxName)], known)
}

// next counts what follows a comma.
func (s *scanner) next() {
	if len(s.open) == 0 {
		return
	}
	if each := s.open[len(s.open)-1]; each != notList {
		s.weight += each
		return
	}
	s.weight += memberWeight
}

func (s *scanner) close() {
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 && s.ended != nil {
		s.ended(s.weight)
		s.weight = 0
	}
}
