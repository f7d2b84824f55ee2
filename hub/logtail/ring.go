package logtail

import (
	"bytes"

	"switchyard.dev/hub/logtail/kept"
)

// ring keeps the last bytes that are written to it, and holds no more than those.
type ring struct {
	buffer [kept.MaxLog]byte
	// next is where the next byte goes, total how many were written.
	next  int
	total int64
}

// Write implements io.Writer.
func (r *ring) Write(p []byte) (int, error) {
	written := len(p)
	r.total += int64(written)
	if len(p) > len(r.buffer) {
		p = p[len(p)-len(r.buffer):]
	}
	for len(p) > 0 {
		n := copy(r.buffer[r.next:], p)
		r.next, p = (r.next+n)%len(r.buffer), p[n:]
	}
	return written, nil
}

// cut reports whether something was written that is not held any more.
func (r *ring) cut() bool { return r.total > int64(len(r.buffer)) }

// text is what is held. Where something was before it, it begins with a whole line, if there is one.
func (r *ring) text() []byte {
	if !r.cut() {
		return bytes.Clone(r.buffer[:r.total])
	}
	text := append(bytes.Clone(r.buffer[r.next:]), r.buffer[:r.next]...)
	if _, whole, ok := bytes.Cut(text, []byte{'\n'}); ok && len(whole) > 0 {
		return whole
	}
	return text
}
