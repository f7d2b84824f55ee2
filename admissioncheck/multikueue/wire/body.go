package wire

import (
	"context"
	"io"
	"sync/atomic"

	"switchyard.dev/worker/jsonweight"
)

// boundedBody is an answer's, read within bounds.
type boundedBody struct {
	io.ReadCloser
	link *ClusterLimits
	scan jsonweight.Scanner
	// watch tells that it is a stream of events, each of which is an answer.
	watch bool
	//nolint:containedctx // that of the request, as in http.Request
	ctx context.Context

	buffered atomic.Int64 // what of it counts in the link's
	events   int          // that ended since they were counted
	err      error
}

// newBody returns a body that is weighed while it is read. Of a watch each event is weighed by itself.
func (l *ClusterLimits) newBody(ctx context.Context, from io.ReadCloser, watch bool) *boundedBody {
	b := &boundedBody{ReadCloser: from, link: l, watch: watch, ctx: ctx, scan: jsonweight.Scanner{Weights: l.weights}}
	if watch {
		b.scan.Ended = func() { b.events++; b.release() }
	}
	if ctx.Done() != nil && !watch {
		context.AfterFunc(ctx, b.release) // what was read is decoded before whoever asked is done
	}
	return b
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	if b.err = b.countBytes(p[:n]); b.err != nil {
		b.link.reportExceeded(b.ctx, b.err)
		return 0, b.err
	}
	if b.watch && n > 0 {
		b.link.rate.wait(b.ctx, n, b.events)
		b.events = 0
	}
	return n, err
}

// countBytes says which bound the next bytes go beyond.
func (b *boundedBody) countBytes(p []byte) error {
	if !b.scan.Feed(p) {
		return Exceeded("an answer nests deeper than %d levels", jsonweight.MaxDepth)
	}
	if b.scan.Weight() > MaxAnswer {
		return Exceeded("%s needs more than %s of memory", b.describe(), mib(MaxAnswer))
	}
	more := b.scan.Weight() - b.buffered.Swap(b.scan.Weight())
	if b.link.concurrent.Add(more) > MaxConcurrent {
		return Exceeded("its answers at one time need more than %s of memory", mib(MaxConcurrent))
	}
	return nil
}

func (b *boundedBody) describe() string {
	if b.watch {
		return "an event of a watch"
	}
	return "an answer"
}

// release takes what was held for the answer off the link's count.
func (b *boundedBody) release() { b.link.concurrent.Add(-b.buffered.Swap(0)) }

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	if b.watch || b.err != nil || b.ctx.Done() == nil {
		b.release()
	}
	return b.ReadCloser.Close()
}
