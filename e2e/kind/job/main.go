// Command job is what the containers of the end-to-end tests run: "job echo WORD..." says the words and ends, "job sleep
// DURATION" says so, and ends after that time with success, or when it is told to stop with failure, at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	// As the first process of its container it would not see a signal for which it has no handler.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: job echo WORD... | job sleep DURATION")
	}
	switch args[0] {
	case "echo":
		_, err := fmt.Fprintln(out, strings.Join(args[1:], " "))
		return err
	case "sleep":
		return sleep(ctx, out, args[1])
	}
	return fmt.Errorf("what is %q?", args[0])
}

func sleep(ctx context.Context, out io.Writer, duration string) error {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return fmt.Errorf("how long to sleep: %w", err)
	}
	if _, err := fmt.Fprintln(out, "sleeping for", d); err != nil {
		return fmt.Errorf("say so: %w", err)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		_, err := fmt.Fprintln(out, "slept")
		return err
	case <-ctx.Done():
		return errors.New("told to stop")
	}
}
