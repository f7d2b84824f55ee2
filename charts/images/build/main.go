// Command build makes the images of the programs; "make images" runs it. It reads nothing but source and module cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"switchyard.dev/charts/images"
)

type options struct {
	source, packages, out, registry, tag, platforms string
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", "..", "The module with the programs, and with charts/switchyard.")
	flag.StringVar(&o.packages, "packages", "./cmd/hub,./cmd/worker", "The programs, comma-separated; each becomes an image of its own name.")
	flag.StringVar(&o.out, "out", "bin/images", "Where tar files and bills of materials go.")
	flag.StringVar(&o.registry, "registry", "switchyard.dev", "What the names of the images begin with.")
	flag.StringVar(&o.tag, "tag", "", "The tag; by default the chart's appVersion, which is what the chart asks for.")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "Comma-separated.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	platforms, err := images.ParsePlatforms(o.platforms)
	if err != nil {
		return err
	}
	if o.tag == "" {
		chart, err := loader.Load(filepath.Join(o.source, "charts", "switchyard"))
		if err != nil {
			return fmt.Errorf("version of the chart: %w", err)
		}
		o.tag = chart.AppVersion()
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("directory for images: %w", err)
	}
	created, err := sourceTime(ctx, o.source)
	if err != nil {
		return err
	}
	for pkg := range strings.SplitSeq(o.packages, ",") {
		program := path.Base(pkg)
		spec := images.Spec{
			Name: o.registry + "/" + program, Tag: o.tag, Dir: o.source, Package: pkg,
			Platforms: platforms, Created: created, Revision: git(ctx, o.source, "rev-parse", "HEAD"),
		}
		if err := build(ctx, spec, filepath.Join(o.out, program+".tar"), stdout); err != nil {
			return err
		}
	}
	return nil
}

func build(ctx context.Context, spec images.Spec, file string, stdout io.Writer) error {
	built, err := images.Build(ctx, spec)
	if err != nil {
		return err
	}
	digest, err := images.Write(built, file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("size of %s: %w", file, err)
	}
	fmt.Fprintf(stdout, "%s:%s@%s  %s  %d MB for %d platforms\n", spec.Name, spec.Tag, digest, file, info.Size()/1e6, len(spec.Platforms))
	return nil
}

// sourceTime is $SOURCE_DATE_EPOCH, else the time of the last commit, else the epoch.
func sourceTime(ctx context.Context, dir string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = git(ctx, dir, "log", "-1", "--format=%ct")
	}
	if text == "" {
		return time.Unix(0, 0), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the source %q: %w", text, err)
	}
	return time.Unix(seconds, 0), nil
}

// git is what git answers, or nothing: a source without it is built all the same.
func git(ctx context.Context, dir string, args ...string) string {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
