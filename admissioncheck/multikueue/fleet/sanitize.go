package fleet

import (
	"switchyard.dev/admissioncheck/multikueue/wire"
	"switchyard.dev/worker/kube"
)

// sanitizedError is an error whose text a cluster may have had a say in, made fit to be shown: it ends up in conditions, events
// and logs. To errors.Is and errors.As it is what it was.
type sanitizedError struct {
	error
	text string
}

func (e sanitizedError) Error() string { return e.text }
func (e sanitizedError) Unwrap() error { return e.error }

// sanitizeError returns an error of a call in the form that is shown outside of the call.
func sanitizeError(err error) error {
	if err == nil {
		return nil
	}
	whole := err.Error()
	if text := kube.Sanitize(whole, wire.MaxText); text != whole {
		return sanitizedError{err, text}
	}
	return err
}
