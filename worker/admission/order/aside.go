package order

// Parked reports whether the member's kind is parked. The member must be in a line.
func (m *Member[T, R, C]) Parked() bool { return m.kind.parked }
