package main

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

// Exit codes, for scripts; exitCodesText documents them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitNotReady    = 4
	exitDenied      = 5
	exitInterrupted = 130 // as a shell reports a program ended by SIGINT
)

const exitCodesText = `Exit codes that scripts can use:

    0  done
    1  failed: anything that has no code of its own; with "submit --wait", the job has failed
    2  usage: the command line or a file given to it is wrong; nothing was changed
    3  not found: a named object does not exist
    4  not ready: what was waited for did not come about in time, or "cluster check" found something missing
    5  denied: the API server refuses these credentials, or they lack a right
  130  interrupted

A command that is passed to kubectl (edit, patch, and get, describe or delete of kinds that are not ours) ends with kubectl's
own code.`

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (o *exitError) Error() string { return o.err.Error() }

// Unwrap implements errors.Unwrap.
func (o *exitError) Unwrap() error { return o.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func notFoundf(format string, args ...any) error {
	return &exitError{exitNotFound, fmt.Errorf(format, args...)}
}

func notReadyf(format string, args ...any) error {
	return &exitError{exitNotReady, fmt.Errorf(format, args...)}
}

// exitCode is the exit code for what a command returned.
func exitCode(err error) int {
	var o *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &o):
		return o.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case apierrors.IsNotFound(err):
		return exitNotFound
	case apierrors.IsForbidden(err) && !isAdmissionDenied(err), apierrors.IsUnauthorized(err):
		return exitDenied
	case wait.Interrupted(err):
		return exitNotReady
	}
	return exitFailed
}

// adviceFor is what the user can do about an error that comes from below; empty if the error says so itself.
func adviceFor(err error) string {
	var noMatch *meta.NoKindMatchError
	var network *net.OpError
	var call *url.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case anyInChain(err, clientcmd.IsEmptyConfig):
		return "is there a kubeconfig, and does it have a current context? Set KUBECONFIG, or pass --kubeconfig or --context"
	case errors.As(err, &noMatch):
		return "the cluster does not serve this kind: is the context the hub's (--context), and is Switchyard installed there?"
	case apierrors.IsUnauthorized(err):
		return "the cluster does not accept these credentials: log in again, or choose others with --context or --user"
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

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "The exit codes of all commands", Long: exitCodesText,
	}
}
