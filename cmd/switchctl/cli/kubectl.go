package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"switchyard.dev/cmd/switchctl/exit"
)

// KubectlError is how kubectl ended, when not well. It has told the user why.
type KubectlError struct{ Code int }

// Error implements error.
func (e *KubectlError) Error() string { return fmt.Sprintf("kubectl ended with %d", e.Code) }

// RunKubectl runs the kubectl on the PATH.
func RunKubectl(ctx context.Context, streams genericiooptions.IOStreams, args []string) error {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return fmt.Errorf("this command is kubectl's, and there is none on the PATH: install kubectl (%w)", err)
	}
	command := exec.CommandContext(ctx, path, args...)
	command.Stdin, command.Stdout, command.Stderr = streams.In, streams.Out, streams.ErrOut
	err = command.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return &KubectlError{max(ended.ExitCode(), exit.Failed)}
	case err != nil:
		return fmt.Errorf("run kubectl: %w", err)
	}
	return nil
}
