// Package exit has the exit codes of switchctl, the errors that carry one, and the hints under errors.
package exit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
)

// Exit codes, for scripts; CodesText documents them.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	NotFound    = 3
	NotReady    = 4
	Denied      = 5
	Interrupted = 130 // as a shell reports a program ended by SIGINT
)

// CodesText is the help topic exit-codes.
const CodesText = `Exit codes that scripts can use:

    0  done
    1  failed: anything that has no code of its own; with "submit --wait", the job has failed
    2  usage: the command line or a file given to it is wrong; nothing was changed
    3  not found: a named object does not exist
    4  not ready: what was waited for did not come about in time, or "cluster check" found something missing
    5  denied: the API server refuses these credentials, or they lack a right
  130  interrupted

"exec" ends with the code of the command in the container, and "cp" with that of tar there, if they fail. A command that is passed to kubectl (edit, patch, and get, describe or delete of kinds that are not ours) ends with kubectl's
own code.`

// Error is an error with an exit code of its own.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (o *Error) Error() string { return o.Err.Error() }

// Unwrap implements errors.Unwrap.
func (o *Error) Unwrap() error { return o.Err }

// Usagef is an error of the command line, or of a file that it names: nothing was changed.
func Usagef(format string, args ...any) error {
	return &Error{Usage, fmt.Errorf(format, args...)}
}

// NotFoundf is the error that a named object does not exist.
func NotFoundf(format string, args ...any) error {
	return &Error{NotFound, fmt.Errorf(format, args...)}
}

// NotReadyf is the error that what was waited for, or checked, is not so.
func NotReadyf(format string, args ...any) error {
	return &Error{NotReady, fmt.Errorf(format, args...)}
}

// Code is the exit code for what a command returned.
func Code(err error) int {
	var o *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &o):
		return o.Code
	case errors.Is(err, context.Canceled):
		return Interrupted
	case apierrors.IsNotFound(err):
		return NotFound
	case apierrors.IsForbidden(err) && !isAdmissionDenied(err), apierrors.IsUnauthorized(err):
		return Denied
	case wait.Interrupted(err):
		return NotReady
	}
	return Failed
}

// AdviceFor is what the user can do about an error that comes from below; empty if the error says so itself.
func AdviceFor(err error) string {
	var noMatch *meta.NoKindMatchError
	var network *net.OpError
	var call *url.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case anyInChain(err, clientcmd.IsEmptyConfig):
		return "is there a kubeconfig, and does it have a current context? Set KUBECONFIG, or pass --kubeconfig or --context"
	case errors.As(err, &noMatch):
		return "the cluster does not serve this kind: is the context the hub's (--context), and is Switchyard installed there?"
	case isAdvised(err):
		return ""
	case apierrors.IsUnauthorized(err):
		return "the cluster does not accept these credentials: log in again, or choose others with --context or --user"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), `"clusters/proxy"`):
		return "ask for the right to get and create clusters/proxy of access.switchyard.dev: with it users look after their jobs through the hub"
	case apierrors.IsForbidden(err) && !isAdmissionDenied(err):
		return "ask for the ClusterRole kueue-batch-user-role (jobs, looking) or kueue-batch-admin-role (queues, clusters), or use another --context"
	case apierrors.IsConflict(err):
		return "somebody else has just changed it: try again"
	case errors.As(err, &certificate):
		return "the API server's certificate is not signed by the authority that the kubeconfig has, or is for another address: get a new kubeconfig"
	case errors.As(err, &network), errors.As(err, &call) && call.Timeout():
		return "the API server cannot be reached: check the address that the context has, and the network in between"
	}
	return ""
}

// isAdvised tells of an answer of the hub's program that says itself what to do.
func isAdvised(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, ": switchctl ") || strings.Contains(message, "it takes the right to do that on the hub")
}

// isAdmissionDenied reports whether a webhook or policy refused an object. That has the code of missing rights but is not: a
// user with all rights would be refused as well.
func isAdmissionDenied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.HasPrefix(message, "admission webhook ") || strings.Contains(message, ": ValidatingAdmissionPolicy ")
}

// anyInChain applies a test for one error to an error and all that it wraps.
func anyInChain(err error, is func(error) bool) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if is(err) {
			return true
		}
	}
	return false
}

// NewCodesTopic is the help topic that lists the exit codes.
func NewCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "The exit codes of all commands", Long: CodesText,
	}
}
