package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"switchyard.dev/e2e/installation"
)

const (
	refreshEvery = 200 * time.Millisecond
	// cleanTimeout bounds the wait for the workers to be empty once all jobs have finished.
	cleanTimeout = time.Minute
)

// run is the whole show. If it fails the directory is kept for its logs. An interruption is context.Canceled.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "switchyard-sandbox-")
	if err != nil {
		return fmt.Errorf("directory for data and logs: %w", err)
	}
	defer func() {
		if err == nil || errors.Is(err, context.Canceled) {
			err = errors.Join(err, os.RemoveAll(dir))
			return
		}
		err = errors.Join(fmt.Errorf("%w\nlogs of all components are in %s/{hub,w1,w2}", err, dir), removeData(dir))
	}()
	stage, err := startStage(ctx, o, dir, out)
	if err != nil {
		return orInterruption(ctx, err)
	}
	defer func() { err = errors.Join(err, stage.Stop()) }()
	show := showProgress
	if o.kinds {
		show = showKinds
	}
	err = orInterruption(ctx, show(ctx, o, stage, out))
	if o.keep && ctx.Err() == nil {
		if err != nil {
			fmt.Fprintln(out, "\n"+err.Error())
		}
		fmt.Fprint(out, hints(stage))
		<-ctx.Done()
	}
	return err
}

// orInterruption replaces what went wrong because of an interruption by the interruption.
func orInterruption(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// removeData removes what is of no use after a failure: the clusters' databases.
func removeData(dir string) error {
	data, err := filepath.Glob(filepath.Join(dir, "*", "etcd"))
	if err != nil {
		return err
	}
	var result *multierror.Error
	for _, each := range data {
		result = multierror.Append(result, os.RemoveAll(each))
	}
	return result.ErrorOrNil()
}

// showProgress submits the jobs, follows them to their end and checks that all went as it should.
func showProgress(ctx context.Context, o options, stage *installation.Stage, out io.Writer) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen, err := newObserver(watching, stage)
	if err != nil {
		return err
	}
	before, err := countWrites(stage)
	if err != nil {
		return err
	}
	all := requests()
	fmt.Fprintf(out, "submitting %d Jobs and JobSets to the queues of two teams\n\n", len(all))
	f := &follower{stage: stage, observer: seen, requests: all, screen: newScreen(out, time.Now())}
	rows, err := f.run(ctx, o.timeout)
	if err != nil {
		return err
	}
	took := time.Since(f.screen.began)
	left, err := waitEmpty(ctx, stage)
	if err != nil {
		return err
	}
	after, err := countWrites(stage)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\n"+summary{rows: rows, took: took, waits: f.isWaiting(), writes: after.subtract(before)}.String())
	problems := append(wrongRuns(rows, seen.listPods), left...)
	if len(problems) > 0 {
		return errors.New("not all went as it should:\n  " + strings.Join(problems, "\n  "))
	}
	fmt.Fprintln(out, "Every job ran exactly once, and nothing is left on any worker.")
	return nil
}
