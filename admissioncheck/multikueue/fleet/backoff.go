package fleet

import "time"

// ReconnectBackoff is how long to wait after the given number of failed attempts in a row, at least one: 5 s, 10 s, 20 s
// and so on, never more than 320 s (contract: multikueue.md 2, "Backoff").
func ReconnectBackoff(attempts int) time.Duration {
	const first, most = 5 * time.Second, 7
	return first << (min(max(attempts, 1), most) - 1)
}

// WriteBackoff is how long a failed action waits before it is tried again, after the given number of failures in a row.
func WriteBackoff(failures int) time.Duration {
	const first, most = 500 * time.Millisecond, 7
	return first << (min(max(failures, 1), most) - 1)
}
