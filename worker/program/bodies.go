package program

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"switchyard.dev/worker/jsonweight"
	ours "switchyard.dev/worker/webhook"
)

// What anybody who reaches the webhooks' port may make the program hold. API servers do not say who they are, so that these bounds
// are all there is.
const (
	// maxReview is the largest admission review, in bytes: an object before and after, of 3 MiB at most each.
	maxReview = 7 << 20
	// maxConversion is the largest conversion review: API servers have 10,000 objects converted at a time when they start.
	maxConversion = 128 << 20
	// maxObject is what the structure of a review, or of one object of a conversion, may take besides its text.
	maxObject = 64 << 20
	// smallBody is what is held apart, so that whoever sends large bodies keeps nobody from being admitted.
	smallBody = 1 << 20
	// maxSmall and maxLarge bound all small and all large bodies at one time.
	maxSmall, maxLarge = 64 << 20, maxConversion
	// bodyTimeout is how long a body may take to arrive, and to wait for its turn. API servers give up after 30 s.
	bodyTimeout = 30 * time.Second
)

// bodies bounds what the webhooks read.
type bodies struct {
	small, large *semaphore.Weighted
	weights      jsonweight.Weights
}

func newBodies(scheme *runtime.Scheme) *bodies {
	var known []any
	for gvk := range scheme.AllKnownTypes() {
		if o, err := scheme.New(gvk); err == nil {
			known = append(known, o)
		}
	}
	return &bodies{small: semaphore.NewWeighted(maxSmall), large: semaphore.NewWeighted(maxLarge), weights: jsonweight.WeightsOf(known...)}
}

// bounded is a webhook that reads no more than it must.
func (b *bodies) bounded(path string, next http.Handler) http.Handler {
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
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // servers of tests have none
		release, ok := b.enter(r.Context(), size)
		if !ok {
			http.Error(w, "too many reviews at a time", http.StatusServiceUnavailable)
			return
		}
		defer release()
		text := make([]byte, size)
		if _, err := io.ReadFull(r.Body, text); err != nil {
			http.Error(w, "the review cannot be read", http.StatusBadRequest)
			return
		}
		if !b.decodable(text, path == ours.ConversionPath) {
			http.Error(w, "the review would take too much memory", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		next.ServeHTTP(w, r)
	})
}

// enter waits until there is room for a body.
func (b *bodies) enter(ctx context.Context, size int64) (release func(), ok bool) {
	room := b.small
	if size > smallBody {
		room = b.large
	}
	ctx, cancel := context.WithTimeout(ctx, bodyTimeout)
	defer cancel()
	if room.Acquire(ctx, size) != nil {
		return nil, false
	}
	return func() { room.Release(size) }, true
}

// decodable tells whether a review takes little enough memory besides its text. The objects of a conversion are decoded one after
// the other, and count one by one.
func (b *bodies) decodable(review []byte, conversion bool) bool {
	if !conversion {
		return b.light(review)
	}
	return ours.ConvertedObjects(review, b.light)
}

func (b *bodies) light(text []byte) bool {
	s := jsonweight.Scanner{Weights: b.weights}
	return s.Feed(text) && s.Weight()-2*int64(len(text)) <= maxObject
}

// boundedServer bounds the bodies of all its webhooks.
type boundedServer struct {
	webhook.Server
	bodies *bodies
}

// Register implements webhook.Server.
func (s boundedServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, s.bodies.bounded(path, hook))
}

// withoutBody refuses what is sent to those who only answer: metrics.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 || !strings.EqualFold(r.Method, http.MethodGet) && !strings.EqualFold(r.Method, http.MethodHead) {
			http.Error(w, "nothing is to be sent here", http.StatusRequestEntityTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}
