package fleet

import (
	"switchyard.dev/admissioncheck/multikueue/wire"
	"switchyard.dev/worker/kube"
)

// presentableError is an error whose text a cluster may have had a say in, made fit to be shown: it ends up in conditions, events
// and logs. To errors.Is and errors.As it is what it was.
type presentableError struct {
	error
	text string
}

func (e presentableError) Error() string { return e.text }
func (e presentableError) Unwrap() error { return e.error }

// presentable returns an error of a call as everybody but the caller is to see it.
func presentable(err error) error {
	if err == nil {
		return nil
	}
	whole := err.Error()
	if text := kube.Plain(whole, wire.MaxText); text != whole {
		return presentableError{err, text}
	}
	return err
}
