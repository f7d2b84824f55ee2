package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/kubectl/pkg/cmd/attach"
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/portforward"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/podutils"
	"k8s.io/streaming/pkg/httpstream"

	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

// findOne finds the pod that a command gets into: the job's one, or of several the one that has been ready for longest.
func findOne(ctx context.Context, a *cli.App, text string, own *workerAccess) (target, *corev1.Pod, error) {
	f, err := newFinder(a, own)
	if err != nil {
		return target{}, nil, err
	}
	t, err := f.find(ctx, text)
	if err != nil {
		return t, nil, err
	}
	pods, err := t.requirePods(ctx)
	if err != nil {
		return t, nil, err
	}
	ordered := make(podutils.ActivePods, 0, len(pods))
	for i := range pods {
		ordered = append(ordered, &pods[i])
	}
	sort.Sort(sort.Reverse(ordered))
	chosen := ordered[0]
	if len(pods) > 1 {
		_, _ = fmt.Fprintf(a.ErrOut, "Found %d pods on %s, using pod/%s\n", len(pods), t.place, cli.PrintableLines(chosen.Name))
	}
	if chosen.Status.Phase == corev1.PodSucceeded || chosen.Status.Phase == corev1.PodFailed {
		return t, nil, exit.NotReadyf("pod %s on %s has ended (%s): nobody gets into it any more", chosen.Name, t.place, chosen.Status.Phase)
	}
	return t, chosen, nil
}

// remote streams to and from containers until the context ends.
type remote struct{ ctx context.Context } //nolint:containedctx // kubectl's code has it called without one

// Execute implements exec.RemoteExecutor.
func (r *remote) Execute(at *url.URL, config *rest.Config, in io.Reader, out, errOut io.Writer, tty bool, size remotecommand.TerminalSizeQueue) error {
	return r.ExecuteWithContext(r.ctx, at, config, in, out, errOut, tty, size)
}

// Attach implements attach.RemoteAttach.
func (r *remote) Attach(at *url.URL, config *rest.Config, in io.Reader, out, errOut io.Writer, tty bool, size remotecommand.TerminalSizeQueue) error {
	return r.ExecuteWithContext(r.ctx, at, config, in, out, errOut, tty, size)
}

// ExecuteWithContext implements exec.RemoteExecutor: by WebSocket, or by SPDY if that cannot be had. What a server answers that refuses both
// is an error with its Status, of which client-go keeps the text only.
func (r *remote) ExecuteWithContext(ctx context.Context, at *url.URL, config *rest.Config, in io.Reader, out, errOut io.Writer, tty bool, size remotecommand.TerminalSizeQueue) error {
	byWebSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
	if err != nil {
		return fmt.Errorf("connect to the container: %w", err)
	}
	bySPDY, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
	if err != nil {
		return fmt.Errorf("connect to the container: %w", err)
	}
	var refusal *apierrors.StatusError
	either, err := remotecommand.NewFallbackExecutor(byWebSocket, bySPDY, func(err error) bool {
		var upgrade *httpstream.UpgradeFailureError
		if errors.As(err, &upgrade) {
			errors.As(upgrade.Cause, &refusal)
		}
		return upgrade != nil || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return fmt.Errorf("connect to the container: %w", err)
	}
	err = either.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errOut, Tty: tty, TerminalSizeQueue: size})
	if err != nil && refusal != nil && strings.HasSuffix(err.Error(), refusal.ErrStatus.Message) {
		return refusal
	}
	return err
}

// withRemoteCode ends the program with the code of the command in the container.
func withRemoteCode(err error) error {
	var ended utilexec.CodeExitError
	if errors.As(err, &ended) {
		return &exit.Error{Code: ended.Code, Err: err}
	}
	return err
}

// addStreamFlags adds what exec and attach have in common.
func addStreamFlags(c *cobra.Command, o *exec.StreamOptions) {
	f := c.Flags()
	f.StringVarP(&o.ContainerName, "container", "c", "", "The container (default: the pod's first)")
	f.BoolVarP(&o.Stdin, "stdin", "i", false, "Pass the standard input to the container")
	f.BoolVarP(&o.TTY, "tty", "t", false, "The standard input is a terminal")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "Only print what the container prints")
}

// NewExec is the command exec: a command in a container of a job.
func NewExec(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "exec {JOB | TYPE[.GROUP]/NAME | POD} [-c CONTAINER] -- COMMAND [ARGS...]", DisableFlagsInUseLine: true,
		Short: "Run a command in a container of a job, on the cluster that runs it",
		Long: `Run a command in a container of a job, on the cluster that runs it. Of several pods it is the one that has been ready for longest.
The program ends with the command's own code.`,
		Example: "  switchctl exec train -- nvidia-smi\n  switchctl exec -it jobset/pretrain -- sh", Args: cobra.MinimumNArgs(2),
	}
	o, own := &exec.ExecOptions{StreamOptions: exec.StreamOptions{IOStreams: a.IOStreams}}, newWorkerAccess(c)
	addStreamFlags(c, &o.StreamOptions)
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		if c.ArgsLenAtDash() != 1 {
			return exit.Usagef("the command stands behind two dashes: exec %s -- COMMAND", args[0])
		}
		t, pod, err := findOne(ctx, a, args[0], own)
		if err != nil {
			return err
		}
		if o.Config, err = t.getter().ToRESTConfig(); err != nil {
			return err
		}
		o.Namespace, o.PodName, o.Command = pod.Namespace, pod.Name, args[1:]
		o.PodClient, o.Executor = t.Kube.CoreV1(), &remote{ctx: ctx}
		return withRemoteCode(o.Run())
	})
	return c
}

// NewAttach is the command attach: the streams of a container's own process.
func NewAttach(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "attach {JOB | TYPE[.GROUP]/NAME | POD} [-c CONTAINER]", DisableFlagsInUseLine: true,
		Short: "Attach to the process of a container of a job, on the cluster that runs it",
		Long:  "Attach to the process of a container of a job, on the cluster that runs it. Of several pods it is the one that has been ready for longest.",
		Args:  cobra.ExactArgs(1),
	}
	o, own := attach.NewAttachOptions(a.IOStreams), newWorkerAccess(c)
	addStreamFlags(c, &o.StreamOptions)
	c.Flags().StringVar(&o.DetachKeys, "detach-keys", "ctrl-p,ctrl-q", "The keys that leave a terminal and let the process go on")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		t, pod, err := findOne(ctx, a, args[0], own)
		if err != nil {
			return err
		}
		if o.Config, err = t.getter().ToRESTConfig(); err != nil {
			return err
		}
		o.Namespace, o.PodName, o.Pod = pod.Namespace, pod.Name, pod
		o.CommandName, o.Attach = c.CommandPath(), &remote{ctx: ctx}
		return withRemoteCode(o.Run())
	})
	return c
}

// NewPortForward is the command port-forward: local ports that lead to ports of a job's pod.
func NewPortForward(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "port-forward {JOB | TYPE[.GROUP]/NAME | POD} [LOCAL:]REMOTE...", DisableFlagsInUseLine: true,
		Short: "Let local ports lead to ports of a job's pod, on the cluster that runs it",
		Long: `Let local ports lead to ports of a job's pod, on the cluster that runs it, until the program is interrupted or the pod ends. Of
several pods it is the one that has been ready for longest. A port may be named as the pod names it.`,
		Example: "  switchctl port-forward jobset/pretrain 6006\n  switchctl port-forward raycluster/tune 8080:8265", Args: cobra.MinimumNArgs(2),
	}
	o, own := portforward.NewDefaultPortForwardOptions(a.IOStreams), newWorkerAccess(c)
	c.Flags().StringSliceVar(&o.Address, "address", []string{"localhost"}, "Addresses to listen on")
	cmdutil.AddPodRunningTimeoutFlag(c, time.Minute)
	_ = c.Flags().MarkHidden("pod-running-timeout") // the pod is there
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		t, pod, err := findOne(ctx, a, args[0], own)
		if err != nil {
			return err
		}
		if err := o.Complete(cmdutil.NewFactory(t.getter()), c, append([]string{"pod/" + pod.Name}, args[1:]...)); err != nil {
			return fmt.Errorf("forward ports of pod %s on %s: %w", pod.Name, t.place, err)
		}
		if err := o.Validate(); err != nil {
			return exit.Usagef("%w", err)
		}
		return o.RunPortForwardContext(ctx)
	})
	return c
}
