package apiserver

import (
	"context"
	"net/http"
	"time"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withDeadline bounds how long a request and its answer may take, whoever sends it. The filters of the generic server bound only how
// long the answer takes to begin, and not how slowly a client sends or reads.
func withDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		setDeadline(connection, time.Now().Add(exchangeTimeout))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, connection)))
	})
}

// withLimits is for requests that are allowed. Long-running ones may take as long as they want, all others have no body: nothing is
// stored here.
func withLimits(next http.Handler, isLongRunning apirequest.LongRunningRequestCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, found := apirequest.RequestInfoFrom(r.Context())
		switch {
		case found && isLongRunning(r, info):
			if connection, ok := r.Context().Value(connectionKey{}).(*http.ResponseController); ok {
				setDeadline(connection, time.Time{})
			}
		case r.ContentLength != 0:
			http.Error(w, "nothing is to be sent here", http.StatusRequestEntityTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// setDeadline sets when reads and writes fail; the zero time is never. Servers of tests have no deadlines.
func setDeadline(connection *http.ResponseController, t time.Time) {
	_ = connection.SetReadDeadline(t)
	_ = connection.SetWriteDeadline(t)
}
