// Command build compiles the programs that test clusters run, at pinned versions, into a cache directory, once per set of
// inputs, and prints that directory on standard output (progress goes to standard error). Run it in the module's
// directory:
//
//	go -C e2e/controlplane run ./build                   # the control plane
//	go -C e2e/controlplane run ./build kuberay lws       # operators of kinds of jobs, one directory a line
//	go -C e2e/controlplane run ./build operators         # all of them
//
// A directory holds bin/<program> and manifests/. It lies under ${SWITCHYARD_CACHE:-<user cache>/switchyard}. Programs of
// the control plane found in $KUBEBUILDER_ASSETS are taken from there.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, out, progress io.Writer) error {
	if len(names) == 0 {
		return build(ctx, controlPlane, os.Getenv("KUBEBUILDER_ASSETS"), out, progress)
	}
	if slices.Equal(names, []string{"operators"}) {
		names = operatorNames()
	}
	for _, name := range names {
		s, ok := operators[name]
		if !ok {
			return fmt.Errorf("no operator %q; there are %s", name, strings.Join(operatorNames(), ", "))
		}
		if err := build(ctx, s, "", out, progress); err != nil {
			return err
		}
	}
	return nil
}

func build(ctx context.Context, s set, assets string, out, progress io.Writer) error {
	dir, err := ensure(ctx, s, assets, progress)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, dir)
	return err
}
