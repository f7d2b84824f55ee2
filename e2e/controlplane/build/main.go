// Command build compiles the control plane programs that this module pins into a cache directory,
// once per set of inputs, and prints that directory on standard output (progress goes to standard
// error). Run it in the module's directory:
//
//	go -C e2e/controlplane run ./build
//
// The directory holds bin/<program> and manifests/. It lies under
// ${SWITCHYARD_CACHE:-<user cache>/switchyard}/controlplane. Programs found in $KUBEBUILDER_ASSETS are
// taken from there.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := ensure(ctx, os.Getenv("KUBEBUILDER_ASSETS"), os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
