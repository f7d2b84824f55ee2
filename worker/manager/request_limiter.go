package manager

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"switchyard.dev/worker/jsonweight"
	"switchyard.dev/worker/listener"
	ours "switchyard.dev/worker/webhook"
)

// What a client that reaches the webhooks' port may make the program hold. API servers do not identify themselves, so that
// these bounds are all there is.
const (
	// maxReview is the largest admission review, in bytes: an object before and after, of 3 MiB at most each.
	maxReview = 7 << 20
	// maxConversion is the largest conversion review: API servers have 10,000 objects converted at a time when they start.
	maxConversion = 128 << 20
	// maxObject is what the structure of a review, or of one object of a conversion, may take besides its text.
	maxObject = 64 << 20
	// smallBody is the size up to which bodies have room of their own, so that large bodies keep no small one from being
	// admitted.
	smallBody = 1 << 20
	// maxSmall and maxLarge bound all small and all large bodies at one time.
	maxSmall, maxLarge = 64 << 20, maxConversion
	// bodyTimeout is how long a body may take to arrive, and to wait for its turn. API servers give up after 30 s.
	bodyTimeout = 30 * time.Second
	// bodyGrace is how long a body may be on its way, or its answer, before a remote that holds less may have its room. API
	// servers send and read at once.
	bodyGrace = time.Second
)

// requestLimiter bounds what the webhooks read.
type requestLimiter struct {
	smallBodies, largeBodies *listener.Limiter
	weights                  jsonweight.Weights
}

// newRequestLimiter returns a limiter that weighs objects by the types of the scheme.
func newRequestLimiter(scheme *runtime.Scheme) *requestLimiter {
	var known []any
	for gvk := range scheme.AllKnownTypes() {
		if o, err := scheme.New(gvk); err == nil {
			known = append(known, o)
		}
	}
	return &requestLimiter{
		smallBodies: listener.NewLimiter(maxSmall, maxSmall, bodyGrace), largeBodies: listener.NewLimiter(maxLarge, maxLarge, bodyGrace),
		weights: jsonweight.Measure(known...),
	}
}

// limit is a webhook that reads no more than it must.
func (b *requestLimiter) limit(path string, next http.Handler) http.Handler {
	most := int64(maxReview)
	if path == ours.ConversionPath {
		most = maxConversion
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		switch {
		case size < 0:
			http.Error(w, "a review has a Content-Length", http.StatusLengthRequired)
			return
		case size > most:
			http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
			return
		}
		connection := http.NewResponseController(w)
		_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout)) // servers of tests have none
		hold, ok := b.acquire(r, size, func() {
			_ = connection.SetReadDeadline(time.Now())
			_ = connection.SetWriteDeadline(time.Now().Add(bodyGrace))
		})
		if !ok {
			http.Error(w, "too many reviews at a time", http.StatusServiceUnavailable)
			return
		}
		defer hold.Release()
		text := make([]byte, size)
		if _, err := io.ReadFull(r.Body, text); err != nil {
			http.Error(w, "the review cannot be read", http.StatusBadRequest)
			return
		}
		if !hold.Pin() {
			http.Error(w, "too many reviews at a time", http.StatusServiceUnavailable)
			return
		}
		if !b.fitsMemory(text, path == ours.ConversionPath) {
			http.Error(w, "the review would take too much memory", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		next.ServeHTTP(&startedResponse{ResponseWriter: w, onStart: hold.Unpin}, r)
	})
}

// acquire waits until there is room for a body. If the body is displaced later, displace is called.
func (b *requestLimiter) acquire(r *http.Request, size int64, displace func()) (*listener.Hold, bool) {
	room := b.smallBodies
	if size > smallBody {
		room = b.largeBodies
	}
	ctx, cancel := context.WithTimeout(r.Context(), bodyTimeout)
	defer cancel()
	return room.Acquire(ctx, listener.RemoteAddress(r.RemoteAddr), size, displace)
}

// startedResponse tells when it begins: from then on it is for the remote to read it.
type startedResponse struct {
	http.ResponseWriter
	onStart func()
	once    sync.Once
}

// Write implements http.ResponseWriter.
func (a *startedResponse) Write(text []byte) (int, error) {
	a.once.Do(a.onStart)
	return a.ResponseWriter.Write(text)
}

// fitsMemory tells whether a review takes little enough memory besides its text. The objects of a conversion are decoded one after
// the other, and count one by one.
func (b *requestLimiter) fitsMemory(review []byte, conversion bool) bool {
	if !conversion {
		return b.isLight(review)
	}
	return ours.ConvertedObjects(review, b.isLight)
}

// isLight reports whether a body decodes into few enough bytes to be admitted as it is: small text may decode into much.
func (b *requestLimiter) isLight(text []byte) bool {
	s := jsonweight.Scanner{Weights: b.weights}
	return s.Feed(text) && s.Weight()-2*int64(len(text)) <= maxObject
}

// withoutBody refuses bodies at endpoints that only answer: metrics.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 || !strings.EqualFold(r.Method, http.MethodGet) && !strings.EqualFold(r.Method, http.MethodHead) {
			http.Error(w, "nothing is to be sent here", http.StatusRequestEntityTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}
