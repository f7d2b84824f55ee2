package wire

import (
	"errors"
	"fmt"
	"time"
)

// Weights are bytes of the hub's memory: those of the text of an answer, twice, and an estimate of what is made of it.
const (
	// MaxAnswer is the most that one answer, or one event of a watch, may weigh. The largest object that etcd takes weighs some
	// 10 MiB at worst, and a page of a list some 4 MiB.
	MaxAnswer = 32 << 20
	// MaxConcurrent is the most that all answers of one cluster that are being read or decoded may weigh together.
	MaxConcurrent = 2 * MaxAnswer
	// MaxRequest is the largest object, by weight, that is sent to a cluster. The answer contains it again, with defaults and
	// managed fields: a user must not be able to make a cluster look hostile by the size of a job.
	MaxRequest = MaxAnswer / 4
	// MaxHeader is the most bytes of an answer's header. API servers send less than 1 KiB, and warnings.
	MaxHeader = 256 << 10
	// MaxStream is how many bytes of one stream are taken before they are read.
	MaxStream = 1 << 20
	// MaxErrorBody is how many bytes of a refusal are read. What is left of it is MaxText, in each text.
	MaxErrorBody = 64 << 10
	// MaxText is the longest text of a worker that is shown to people.
	MaxText = 1024
	// MaxRetryAfter is the longest that a worker may have a call wait before it is made again.
	MaxRetryAfter = 30 * time.Second
	// HeaderTimeout is how long an answer may take to begin.
	HeaderTimeout = time.Minute
)

// ErrExceeded is what errors of answers that go beyond a bound are, by errors.Is.
var ErrExceeded = errors.New("the cluster's answers exceed a bound")

// exceededError says which bound an answer went beyond.
type exceededError struct{ what string }

func (e exceededError) Error() string   { return e.what }
func (e exceededError) Is(t error) bool { return t == ErrExceeded }

// Exceeded makes an error that is ErrExceeded.
func Exceeded(format string, args ...any) error { return exceededError{fmt.Sprintf(format, args...)} }

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
