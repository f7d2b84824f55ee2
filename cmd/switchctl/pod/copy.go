package pod

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubectl/pkg/cmd/cp"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"

	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

// NewCopy is the command cp: files to and from a container of a job.
func NewCopy(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "cp SOURCE DESTINATION", DisableFlagsInUseLine: true,
		Short: "Copy files to and from a container of a job, on the cluster that runs it",
		Long: `Copy files to and from a container of a job, on the cluster that runs it. One of the two is local; the other is a JOB, TYPE/NAME or
POD, a colon, and the path in the container, whose image needs tar. Of several pods it is the one that has been ready for longest.`,
		Example: "  switchctl cp train:/work/model.pt model.pt\n  switchctl cp data.csv jobset/pretrain:/work/ -c main", Args: cobra.ExactArgs(2),
	}
	o, own := cp.NewCopyOptions(a.IOStreams), newWorkerAccess(c)
	f := c.Flags()
	f.StringVarP(&o.Container, "container", "c", "", "The container (default: the pod's first)")
	f.BoolVar(&o.NoPreserve, "no-preserve", false, "Leave owners and permissions of files behind")
	f.IntVar(&o.MaxTries, "retries", 0, "How often to go on with a copy that broke off; negative for always")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error { return runCopy(ctx, a, c, args, own, o) })
	return c
}

func runCopy(ctx context.Context, a *cli.App, c *cobra.Command, args []string, own *workerAccess, o *cp.CopyOptions) error {
	at, name, path, err := remoteSide(args)
	if err != nil {
		return err
	}
	t, pod, err := findOne(ctx, a, name, own)
	if err != nil {
		return err
	}
	if container, _ := podcmd.FindContainerByName(pod, o.Container); o.Container != "" && container == nil {
		return exit.NotFoundf("container %s is not valid for pod %s out of: %s", o.Container, pod.Name, podcmd.AllContainerNames(pod))
	}
	args = append([]string(nil), args...)
	args[at] = pod.Namespace + "/" + pod.Name + ":" + path
	if err := o.Complete(cmdutil.NewFactory(t.getter()), c, args); err != nil {
		return fmt.Errorf("copy from or to pod %s on %s: %w", pod.Name, t.place, err)
	}
	transfer := &transfer{remote: remote{ctx: ctx}, beside: at == 0, out: a.ErrOut}
	defer transfer.end()
	o.Executor, o.Out, o.ErrOut = transfer, transfer, transfer
	err = o.Run()
	switch failed := transfer.failure(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed != nil:
		return withRemoteCode(failed)
	}
	return withRemoteCode(err)
}

// transfer runs the commands of a copy.
type transfer struct {
	remote

	// beside tells that the command runs beside kubectl's code, which would end the program by itself if it failed: so it does where files
	// come from a container.
	beside bool

	mu     sync.Mutex
	out    io.Writer
	ended  bool
	failed error
}

// Write implements io.Writer, for what the command in the container says.
func (t *transfer) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return len(text), nil
	}
	return t.out.Write(text)
}

// end is called when the copy is over: with the end of the archive, for which the command that made it need not have ended.
func (t *transfer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Execute implements exec.RemoteExecutor.
func (t *transfer) Execute(at *url.URL, config *rest.Config, in io.Reader, out, errOut io.Writer, tty bool, size remotecommand.TerminalSizeQueue) error {
	err := t.remote.Execute(at, config, in, out, errOut, tty, size)
	if !t.beside {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended { // else the archive was whole
		t.failed = err
	}
	return nil
}

// failure is how the last command beside kubectl's code failed.
func (t *transfer) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// remoteSide is which of the arguments of a copy is in a container: its index, what it names, and the path there.
func remoteSide(args []string) (at int, name, path string, err error) {
	at = -1
	for i, arg := range args {
		before, after, ok := cutRemote(arg)
		switch {
		case !ok:
			continue
		case at >= 0:
			return 0, "", "", exit.Usagef("both are in containers: one has to be a local file")
		case before == "" || after == "":
			return 0, "", "", exit.Usagef("%q names no file in a container: want JOB:PATH, TYPE/NAME:PATH or POD:PATH", arg)
		}
		at, name, path = i, before, after
	}
	if at < 0 {
		return 0, "", "", exit.Usagef("neither is in a container: name one as JOB:PATH, TYPE/NAME:PATH or POD:PATH")
	}
	return at, name, path, nil
}

// cutRemote cuts what names a pod from the path there. What begins like a path is a local file, colon or not.
func cutRemote(arg string) (name, path string, ok bool) {
	if strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") {
		return "", "", false
	}
	return strings.Cut(arg, ":")
}
