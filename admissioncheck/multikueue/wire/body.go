package wire

import (
	"context"
	"io"
	"sync/atomic"

	"switchyard.dev/worker/jsonweight"
)

// body is an answer's, read within bounds.
type body struct {
	io.ReadCloser
	link *Link
	scan jsonweight.Scanner
	// watch tells that it is a stream of events, each of which is an answer.
	watch bool
	//nolint:containedctx // that of the request, as in http.Request
	ctx context.Context

	held   atomic.Int64 // what of it counts in the link's
	events int          // that ended since they were counted
	err    error
}

func (l *Link) newBody(ctx context.Context, from io.ReadCloser, watch bool) *body {
	b := &body{ReadCloser: from, link: l, watch: watch, ctx: ctx, scan: jsonweight.Scanner{Weights: l.weights}}
	if watch {
		b.scan.Ended = func() { b.events++; b.release() }
	}
	if ctx.Done() != nil && !watch {
		context.AfterFunc(ctx, b.release) // what was read is decoded before whoever asked is done
	}
	return b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	if b.err = b.weigh(p[:n]); b.err != nil {
		b.link.tell(b.ctx, b.err)
		return 0, b.err
	}
	if b.watch && n > 0 {
		b.link.rate.pace(b.ctx, n, b.events)
		b.events = 0
	}
	return n, err
}

// weigh says which bound the next bytes go beyond.
func (b *body) weigh(p []byte) error {
	if !b.scan.Feed(p) {
		return Exceeded("an answer nests deeper than %d levels", jsonweight.MaxDepth)
	}
	if b.scan.Weight() > MaxAnswer {
		return Exceeded("%s needs more than %s of memory", b.noun(), mib(MaxAnswer))
	}
	more := b.scan.Weight() - b.held.Swap(b.scan.Weight())
	if b.link.atOnce.Add(more) > MaxAtOnce {
		return Exceeded("its answers at one time need more than %s of memory", mib(MaxAtOnce))
	}
	return nil
}

func (b *body) noun() string {
	if b.watch {
		return "an event of a watch"
	}
	return "an answer"
}

// release takes what was held for the answer off the link's count.
func (b *body) release() { b.link.atOnce.Add(-b.held.Swap(0)) }

// Close implements io.Closer.
func (b *body) Close() error {
	if b.watch || b.err != nil || b.ctx.Done() == nil {
		b.release()
	}
	return b.ReadCloser.Close()
}
