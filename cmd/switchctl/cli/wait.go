package cli

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"switchyard.dev/cmd/switchctl/exit"
)

// WaitFor looks until it sees what it waits for, at once for the first time. An API server that does not answer for a while,
// or not now, is asked again: a wait of hours must not end because the server was restarted.
func (a *App) WaitFor(ctx context.Context, timeout time.Duration, seen func(context.Context) (bool, error)) error {
	answers := true
	return wait.PollUntilContextTimeout(ctx, a.PollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		done, err := seen(ctx)
		if !isTransient(err) || ctx.Err() != nil {
			answers = true
			return done, err
		}
		if answers {
			a.Warnf("%v; waiting on", err)
		}
		answers = false
		return false, nil
	})
}

// isTransient tells of an error that is over when the API server, or the way to it, is back.
func isTransient(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err)
}

// dryRun is the flag --dry-run; without a value it means client, as with kubectl of old.
type dryRun struct {
	value   *string
	choices []string
}

// Set implements pflag.Value.
func (d dryRun) Set(text string) error {
	for _, choice := range append(d.choices, "none") {
		if text == choice {
			*d.value = text
			return nil
		}
	}
	return exit.Usagef("must be one of none, %s", strings.Join(d.choices, ", "))
}

// Type implements pflag.Value.
func (d dryRun) Type() string { return "string" }

// String implements pflag.Value.
func (d dryRun) String() string {
	if d.value == nil {
		return ""
	}
	return *d.value
}

// AddDryRun adds --dry-run with the choices that a command has besides none.
func AddDryRun(cmd *cobra.Command, value *string, choices ...string) {
	*value = "none"
	cmd.Flags().Var(dryRun{value, choices}, "dry-run", "One of none, "+strings.Join(choices, ", ")+": show what would be done and do nothing")
	cmd.Flag("dry-run").NoOptDefVal = choices[0]
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(append(choices, "none"), cobra.ShellCompDirectiveNoFileComp))
}

// Sleep lets some time pass.
func (a *App) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
