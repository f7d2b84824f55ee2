package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

type logsOptions struct {
	*workerAccess
	corev1.PodLogOptions
	all    bool
	tail   int64
	since  time.Duration
	prefix bool
}

// NewLogs is the command logs: the logs of a job's pods, from the worker that runs it.
func NewLogs(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "logs {JOB | TYPE[.GROUP]/NAME}", Short: "Print the logs of a job's pods, from the cluster that runs it",
		Long: `Print the logs of a job's pods, from the cluster that runs it. It reads by the hub's kubeconfig Secret, whose account may do so
only if the worker was registered with --allow-logs, or by a kubeconfig of your own.`,
		Example: "  switchctl logs train -f\n  switchctl logs jobset/pretrain --tail 20 --worker-context w1", Args: cobra.ExactArgs(1),
	}
	o := &logsOptions{workerAccess: newWorkerAccess(c)}
	f := c.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "Go on as the logs do")
	f.BoolVarP(&o.Previous, "previous", "p", false, "Those of the containers before their last restart")
	f.BoolVar(&o.Timestamps, "timestamps", false, "With the time of each line")
	f.StringVarP(&o.Container, "container", "c", "", "The container (default: the pod's first)")
	f.BoolVar(&o.all, "all-containers", false, "All containers of each pod")
	f.Int64Var(&o.tail, "tail", -1, "The last lines only; -1 for all")
	f.DurationVar(&o.since, "since", 0, "Only what is no older, such as 10m")
	f.BoolVar(&o.prefix, "prefix", false, "Begin each line with its pod and container, as is done anyway where there are several")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runLogs(ctx, a, args[0], o) })
	return c
}

// runLogs prints the logs of the job's pods from the cluster that runs it. With several pods each line begins with its pod.
func runLogs(ctx context.Context, a *cli.App, job string, o *logsOptions) error {
	if o.tail >= 0 {
		o.TailLines = &o.tail
	}
	if o.since > 0 {
		seconds := int64(o.since.Round(time.Second).Seconds())
		o.SinceSeconds = &seconds
	}
	p, err := findJobPlace(ctx, a, job, o.workerAccess)
	if err != nil {
		return err
	}
	pods, err := p.listPods(ctx)
	if err != nil {
		return err
	}
	sources := o.listSources(pods)
	if len(sources) == 0 && p.ended && p.cluster != "" {
		return exit.NotFoundf("%s has finished: its pods on %s went with it, and their logs; read logs with -f while a job runs, or "+
			"collect them on the worker", p.job, p)
	}
	if len(sources) == 0 {
		return exit.NotReadyf("%s has no pods on %s yet; see \"events %s\"", p.job, p, p.job)
	}
	return streamLogs(ctx, a, p, sources, o)
}

// logSource is a container whose log is read.
type logSource struct{ pod, container string }

// listSources are the containers to read, pod by pod.
func (o *logsOptions) listSources(pods []corev1.Pod) []logSource {
	var list []logSource
	for i := range pods {
		for at, c := range pods[i].Spec.Containers {
			if o.all || o.Container == c.Name || o.Container == "" && at == 0 {
				list = append(list, logSource{pods[i].Name, c.Name})
			}
		}
	}
	return list
}

// streamLogs copies the logs, one after another or, while they are followed, side by side, line by line.
func streamLogs(ctx context.Context, a *cli.App, p jobPlace, sources []logSource, o *logsOptions) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if o.Follow {
		group.SetLimit(len(sources))
	}
	for _, s := range sources {
		group.Go(func() error {
			options := o.PodLogOptions
			options.Container = s.container
			log, err := p.Kube.CoreV1().Pods(p.namespace).GetLogs(s.pod, &options).Stream(ctx)
			if err != nil {
				return p.explainDenied(err, "read the log of pod "+s.pod)
			}
			before := ""
			if o.prefix || len(sources) > 1 {
				before = fmt.Sprintf("[%s/%s] ", s.pod, s.container)
			}
			return copyLines(a.Out, log, before, &mu)
		})
	}
	return group.Wait()
}

// copyLines copies whole lines, each behind a prefix, and closes what it has read.
func copyLines(to io.Writer, from io.ReadCloser, before string, mu *sync.Mutex) error {
	reader := bufio.NewReader(from)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			if line[len(line)-1] != '\n' {
				line += "\n"
			}
			mu.Lock()
			_, _ = io.WriteString(to, before+line)
			mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return from.Close()
		}
		if err != nil {
			return fmt.Errorf("read a log: %w", err)
		}
	}
}
