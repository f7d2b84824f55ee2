package pod

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/logs"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

// NewLogs is the command logs: the logs of a job's pods, from the worker that runs it.
func NewLogs(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "logs {JOB | TYPE[.GROUP]/NAME | POD}", Short: "Print the logs of a job's pods, from the cluster that runs it",
		Long: `Print the logs of a job's pods, from the cluster that runs it: through the hub, or by a kubeconfig of your own. A name alone is
that of a batch Job, or else of a pod.`,
		Example: "  switchctl logs train -f\n  switchctl logs jobset/pretrain --tail 20 --all-containers", Args: cobra.ExactArgs(1),
	}
	o, own := logs.NewLogsOptions(a.IOStreams), newWorkerAccess(c)
	f := c.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "Go on as the logs do")
	f.BoolVarP(&o.Previous, "previous", "p", false, "Those of the containers before their last restart")
	f.BoolVar(&o.Timestamps, "timestamps", false, "With the time of each line")
	f.StringVarP(&o.Container, "container", "c", "", "The container (default: the pod's first)")
	f.BoolVar(&o.AllContainers, "all-containers", false, "All containers of each pod, init containers first")
	f.Int64Var(&o.Tail, "tail", o.Tail, "The last lines only; -1 for all")
	f.Int64Var(&o.LimitBytes, "limit-bytes", 0, "At most so many bytes of each log; 0 for all")
	f.DurationVar(&o.SinceSeconds, "since", 0, "Only what is no older, such as 10m")
	f.StringVar(&o.SinceTime, "since-time", "", "Only what is no older than that time (RFC 3339)")
	f.BoolVar(&o.Prefix, "prefix", false, "Begin each line with its pod and container, as is done anyway where there are several")
	c.MarkFlagsMutuallyExclusive("since", "since-time")
	c.MarkFlagsMutuallyExclusive("container", "all-containers")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runLogs(ctx, a, args[0], own, o) })
	return c
}

// runLogs prints the logs of the target's pods. With several of them each line begins with its pod.
func runLogs(ctx context.Context, a *cli.App, text string, own *workerAccess, o *logs.LogsOptions) error {
	options, err := o.ToLogOptions()
	if err != nil {
		return exit.Usagef("--since-time: %w", err)
	}
	o.Options = options
	if err := o.Validate(); err != nil {
		return exit.Usagef("%w", err)
	}
	f, err := newFinder(a, own)
	if err != nil {
		return err
	}
	t, err := f.find(ctx, text)
	if err != nil {
		return f.printKeptLogs(ctx, t, o, err)
	}
	pods, err := t.listPods(ctx)
	if err == nil && len(pods) == 0 {
		err = t.noPods()
	}
	if err != nil {
		return f.printKeptLogs(ctx, t, o, err)
	}
	sources, err := listSources(t, pods, o)
	if err != nil {
		return err
	}
	return streamLogs(ctx, a, t, sources, o)
}

// logSource is a container whose log is read.
type logSource struct {
	pod, container string

	request rest.ResponseWrapper
}

// listSources are the containers to read, pod by pod, in each pod in their order. A container that is asked for by name need not be in
// every pod.
func listSources(t target, pods []corev1.Pod, o *logs.LogsOptions) ([]logSource, error) {
	has := func(p *corev1.Pod) bool {
		container, _ := podcmd.FindContainerByName(p, o.Container)
		return o.Container == "" || container != nil
	}
	some := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return has(&p) })
	var list []logSource
	for i := range pods {
		if some && !has(&pods[i]) {
			continue
		}
		requests, err := polymorphichelpers.AllPodLogsForObjectFn(t.getter(), &pods[i], o.Options, 0, o.AllContainers)
		if err != nil {
			return nil, exit.NotFoundf("%w", err)
		}
		var own []logSource
		for reference, request := range requests {
			_, container, _ := strings.Cut(strings.TrimSuffix(reference.FieldPath, "}"), "{")
			own = append(own, logSource{pods[i].Name, container, request})
		}
		slices.SortFunc(own, func(a, b logSource) int {
			return containerIndex(&pods[i], a.container) - containerIndex(&pods[i], b.container)
		})
		list = append(list, own...)
	}
	return list, nil
}

// containerIndex is the place of a container in its pod, in the order in which they are started.
func containerIndex(p *corev1.Pod, name string) int {
	var names []string
	for i := range p.Spec.InitContainers {
		names = append(names, p.Spec.InitContainers[i].Name)
	}
	for i := range p.Spec.Containers {
		names = append(names, p.Spec.Containers[i].Name)
	}
	at := slices.Index(names, name)
	if at < 0 { // an ephemeral one
		return len(names)
	}
	return at
}

// streamLogs copies the logs, one after another or, while they are followed, side by side, line by line.
func streamLogs(ctx context.Context, a *cli.App, t target, sources []logSource, o *logs.LogsOptions) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if o.Follow {
		group.SetLimit(len(sources))
	}
	for _, s := range sources {
		group.Go(func() error {
			out := &lineWriter{out: a.Out, mu: &mu}
			if o.Prefix || len(sources) > 1 {
				out.before = fmt.Sprintf("[%s/%s] ", s.pod, s.container)
			}
			err := logs.DefaultConsumeRequest(ctx, s.request, out)
			for o.Follow && isStarting(err) && a.Sleep(ctx, a.PollInterval) == nil {
				err = logs.DefaultConsumeRequest(ctx, s.request, out)
			}
			if err != nil {
				return fmt.Errorf("read the log of pod %s on %s: %w", s.pod, t.place, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// isStarting tells of a container that will have a log soon. A kubelet has no other way to say so.
func isStarting(err error) bool {
	return apierrors.IsBadRequest(err) &&
		(strings.HasSuffix(err.Error(), "is waiting to start: ContainerCreating") || strings.HasSuffix(err.Error(), "is waiting to start: PodInitializing"))
}

// lineWriter writes whole lines, each behind a prefix. It is given lines; the last may have no end.
type lineWriter struct {
	out    io.Writer
	mu     *sync.Mutex
	before string
}

// Write implements io.Writer.
func (w *lineWriter) Write(line []byte) (int, error) {
	if len(line) == 0 {
		return 0, nil
	}
	whole := append([]byte(w.before), line...)
	if !bytes.HasSuffix(line, []byte("\n")) {
		whole = append(whole, '\n')
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(whole); err != nil {
		return 0, fmt.Errorf("write a log: %w", err)
	}
	return len(line), nil
}
