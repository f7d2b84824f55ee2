// Command sandbox shows Switchyard at work on this machine: it starts a hub cluster and two GPU worker clusters on real
// API servers (only the nodes are pretended), runs the hub's and the workers' programs, applies config/samples, submits
// about thirty Jobs and JobSets, and shows where they run. It succeeds only if every job ran exactly once and nothing is
// left on any worker. With -kinds it shows one job of each kind, run by the kinds' own operators. Nothing of it outlives the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

type options struct {
	programs string
	keep     bool
	kinds    bool
	timeout  time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.programs, "programs", "", "directory of the built programs hub and worker (default: the sandbox's own directory, else they are built)")
	flag.BoolVar(&o.keep, "keep", false, "leave the clusters up after the summary, until Ctrl-C")
	flag.BoolVar(&o.kinds, "kinds", false, "show one job of each kind that can run on another cluster, with the kinds' own operators, instead of Jobs and JobSets")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long the jobs may take")
	flag.Parse()
	// The caches' own log would break the table; what matters of it comes back as errors.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "\nsandbox: interrupted; all clusters are stopped")
		os.Exit(130) // as a shell reports a program ended by SIGINT
	case err != nil:
		fmt.Fprintln(os.Stderr, "\nsandbox:", err)
		os.Exit(1)
	}
}
