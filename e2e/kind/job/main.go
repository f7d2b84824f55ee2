// Command job is what the containers of the end-to-end tests run:
//
//	job echo WORD...      says the words and ends
//	job sleep DURATION    says so, and ends after that time with success, or when it is told to stop with failure, at once
//	job serve ADDRESS     ticks ten times a second, and answers HTTP requests, until it is told to stop
//	job cat               says what it hears
//	job exit CODE         ends with that code
//	job install FILE      copies itself
//
// Under the name tar it packs and unpacks as much as kubectl cp asks for, because there is nothing else in its image.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// exitError is the code that a program was told to end with.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("told to end with code %d", int(e)) }

func main() {
	// As the first process of its container it would not see a signal for which it has no handler.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	do := run
	if filepath.Base(os.Args[0]) == "tar" {
		do = archive
	}
	err := do(ctx, os.Stdin, os.Stdout, os.Args[1:])
	stop()
	var code exitError
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("what is to be done?")
	}
	name, args := args[0], args[1:]
	if name == "cat" {
		_, err := io.Copy(out, in)
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("%s needs an argument", name)
	}
	switch name {
	case "echo":
		_, err := fmt.Fprintln(out, strings.Join(args, " "))
		return err
	case "sleep":
		return sleep(ctx, out, args[0])
	case "serve":
		return serve(ctx, out, args[0])
	case "install":
		return install(args[0])
	case "exit":
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return fmt.Errorf("the code: %w", err)
		}
		return exitError(code)
	}
	return fmt.Errorf("what is %q?", name)
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

// tick is how often serve says something.
const tick = 100 * time.Millisecond

func serve(ctx context.Context, out io.Writer, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello from a container\n")
	})}
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for i := 0; ; i++ {
		if _, err := fmt.Fprintln(out, "tick", i); err != nil {
			return fmt.Errorf("tick: %w", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.New("told to stop")
		}
	}
}

// install copies the program, to run under another name.
func install(file string) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	if err := os.WriteFile(file, data, 0o755); err != nil { //nolint:gosec // a program is executable
		return fmt.Errorf("copy the program: %w", err)
	}
	return nil
}
