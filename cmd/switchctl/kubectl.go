package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// kubectlError is how kubectl ended, when not well. It has told the user why.
type kubectlError struct{ code int }

// Error implements error.
func (e *kubectlError) Error() string { return fmt.Sprintf("kubectl ended with %d", e.code) }

// runKubectl runs the kubectl on the PATH.
func runKubectl(ctx context.Context, streams genericiooptions.IOStreams, args []string) error {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return fmt.Errorf("this command is kubectl's, and there is none on the PATH: install kubectl (%w)", err)
	}
	command := exec.CommandContext(ctx, path, args...)
	command.Stdin, command.Stdout, command.Stderr = streams.In, streams.Out, streams.ErrOut
	err = command.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return &kubectlError{max(exit.ExitCode(), exitFailed)}
	case err != nil:
		return fmt.Errorf("run kubectl: %w", err)
	}
	return nil
}
