package wire

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"sync/atomic"

	"switchyard.dev/worker/jsonweight"
)

// ClusterLimits is one connection to a cluster, as far as it is bounded.
type ClusterLimits struct {
	weights    jsonweight.Weights
	report     func(error)
	concurrent atomic.Int64
	rate       *Rate
}

// NewClusterLimits bounds a connection whose answers are of the given weights, and whose watches bring what the rate allows. Report is told of
// every answer that goes beyond a bound; it must not block.
func NewClusterLimits(weights jsonweight.Weights, rate *Rate, report func(error)) *ClusterLimits {
	return &ClusterLimits{weights: weights, rate: rate, report: report}
}

type tentative struct{}

// Tentative makes it no offence to exceed a bound: the caller would ask for less then.
func Tentative(ctx context.Context) context.Context { return context.WithValue(ctx, tentative{}, true) }

// reportExceeded reports an answer that went beyond a bound.
func (l *ClusterLimits) reportExceeded(ctx context.Context, err error) {
	if ctx.Value(tentative{}) == nil {
		l.report(err)
	}
}

// Wrap bounds what comes through a transport.
func (l *ClusterLimits) Wrap(next http.RoundTripper) http.RoundTripper {
	return &boundedTransport{next: next, link: l}
}

// boundedTransport is a transport whose answers are bounded.
type boundedTransport struct {
	next http.RoundTripper
	link *ClusterLimits
}

// WrappedRoundTripper lets client-go find what it looks for beneath.
func (b *boundedTransport) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if refusal := b.tooLarge(request); refusal != nil {
		return refusal, nil
	}
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := b.checkResponse(request, response); err != nil {
		_ = response.Body.Close()
		if errors.Is(err, ErrExceeded) {
			b.link.reportExceeded(request.Context(), err)
		}
		return nil, err
	}
	return response, nil
}

// checkResponse refuses an answer that leads elsewhere or has a form that was not asked for, and bounds what is read of any other.
func (b *boundedTransport) checkResponse(request *http.Request, response *http.Response) error {
	status := response.StatusCode
	switch encoding := response.Header.Get("Content-Encoding"); {
	case status < http.StatusOK:
		return fmt.Errorf("the cluster answered with status %d, which was not asked for", status)
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return fmt.Errorf("the cluster answered with a redirect (%d), and none is followed", status)
	case encoding != "" && encoding != "identity":
		return Exceeded("the cluster compressed an answer, which it was not asked to")
	case status >= http.StatusBadRequest:
		return b.errorResponse(response)
	}
	if response.ContentLength == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return errors.New("the cluster answered with something that is not JSON")
	}
	watch, _ := strconv.ParseBool(request.URL.Query().Get("watch"))
	if !watch && 2*response.ContentLength > MaxAnswer {
		return Exceeded("an answer has %d bytes, and may not need more than %s of memory", response.ContentLength, mib(MaxAnswer))
	}
	response.Body = b.link.newBody(request.Context(), response.Body, watch)
	return nil
}
