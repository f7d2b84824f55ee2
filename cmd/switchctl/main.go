// Command switchctl is the command line of Switchyard, and as kubectl-switchyard a plugin of kubectl: it registers worker
// clusters at a hub, sets up queues, submits jobs, and says where they are and why they wait.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"switchyard.dev/cmd/switchctl/cli"
)

func main() {
	ctrllog.SetLogger(logr.Discard()) // what went wrong comes back as errors
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := cli.NewApp(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	code := runCommandLine(ctx, a, os.Args)
	stop()
	os.Exit(code)
}
