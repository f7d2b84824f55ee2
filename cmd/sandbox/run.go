package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"switchyard.dev/e2e/installation"
)

const (
	refreshEvery = 200 * time.Millisecond
	// cleanTimeout bounds the wait for the workers to be empty once all jobs have finished.
	cleanTimeout = time.Minute
)

// run is the whole show. The directory with logs is kept if it fails.
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
		err = fmt.Errorf("%w\nlogs of all components are in %s/{hub,w1,w2}", err, dir)
	}()
	stage, err := raise(ctx, o, dir, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Stop()) }()
	err = show(ctx, o, stage, out)
	if o.keep && ctx.Err() == nil {
		if err != nil {
			fmt.Fprintln(out, "\n"+err.Error())
		}
		fmt.Fprint(out, hints(stage))
		<-ctx.Done()
	}
	return err
}

// show submits the jobs, follows them to their end and checks that all went as it should.
func show(ctx context.Context, o options, stage *installation.Stage, out io.Writer) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen, err := observe(watching, stage)
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
	rows, err := f.follow(ctx, o.timeout)
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
	fmt.Fprint(out, "\n"+summary{rows: rows, took: took, waits: f.waits(), writes: after.since(before)}.String())
	problems := append(wrongRuns(rows, seen.podsOf), left...)
	if len(problems) > 0 {
		return errors.New("not all went as it should:\n  " + strings.Join(problems, "\n  "))
	}
	fmt.Fprintln(out, "Every job ran exactly once, and nothing is left on any worker.")
	return nil
}
