package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"switchyard.dev/cmd/switchctl/show"
)

// defaultSystemNamespace is where the programs are installed by default.
const defaultSystemNamespace = "kueue-system"

// app is one run of the program: where it reads and writes, and how it reaches clusters.
type app struct {
	genericiooptions.IOStreams
	// flags are kubectl's global flags; they lead to the hub.
	flags *genericclioptions.ConfigFlags
	// system is the namespace of the hub's program, in which kubeconfig Secrets are.
	system string
	// sites reaches clusters.
	sites clientGetter
	// kubectl runs kubectl with arguments.
	kubectl func(ctx context.Context, streams genericiooptions.IOStreams, args []string) error
	// pendingIn asks the hub for the pending workloads of a ClusterQueue, in order.
	pendingIn func(ctx context.Context, hub *kubeClient, queue string) ([]byte, error)
	// now is the clock, poll how often a state that is waited for is looked at.
	now  func() time.Time
	poll time.Duration

	// complaints are findings that the user was told of.
	complaints []show.Finding
	// running is set once the command line was understood: errors before that are the user's.
	running bool
}

func newApp(streams genericiooptions.IOStreams) *app {
	flags := genericclioptions.NewConfigFlags(true)
	return &app{
		IOStreams: streams, flags: flags, system: defaultSystemNamespace,
		sites: newClientGetter(flags), kubectl: runKubectl, pendingIn: requestPending, now: time.Now, poll: time.Second,
	}
}

// runCommandLine runs a command line, the program's own name first, and returns the exit code.
func (a *app) runCommandLine(ctx context.Context, argv []string) int {
	root := a.newRootCommand(argv[0])
	root.SetArgs(argv[1:])
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !a.running {
		var o *exitError
		if !errors.As(err, &o) {
			err = usagef("%w\n%sSee '%s --help'.", err, useLine(command), command.CommandPath())
		}
	}
	var kubectl *kubectlError
	if errors.As(err, &kubectl) {
		return kubectl.code // it has said why
	}
	if err != nil {
		_, _ = fmt.Fprintln(a.ErrOut, "error:", printableLines(err.Error()))
		if text := adviceFor(err); text != "" {
			_, _ = fmt.Fprintln(a.ErrOut, "hint:", text)
		}
	}
	return exitCode(err)
}

// useLine is what should have been typed, if the command is one that does something.
func useLine(c *cobra.Command) string {
	if c.HasSubCommands() {
		return ""
	}
	return "Usage: " + c.UseLine() + "\n"
}

func (a *app) newRootCommand(argv0 string) *cobra.Command {
	root := &cobra.Command{
		Use: "switchctl", Short: "Submit jobs to a Switchyard hub, look after its queues and its worker clusters",
		Long: `switchctl submits jobs to the queues of a Switchyard hub, says where they run and why they wait, and looks after the hub's
queues and worker clusters. The current context of the kubeconfig is the hub, unless --context names another.

As an executable named kubectl-switchyard on the PATH it is a plugin: kubectl switchyard ...
"switchctl help exit-codes" lists the exit codes, "switchctl options" the flags that every command has.`,
		SilenceErrors: true, SilenceUsage: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: displayName(argv0)},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	a.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&a.system, "system-namespace", a.system, "Namespace of Switchyard's program, and of kubeconfig Secrets, on the hub")
	root.AddGroup(
		&cobra.Group{ID: groupJobs, Title: "Jobs:"},
		&cobra.Group{ID: groupQueues, Title: "Queues and workloads:"},
		&cobra.Group{ID: groupFleet, Title: "Worker clusters:"},
	)
	root.AddCommand(newExitCodesTopic())
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupJobs, a.newSubmit(), a.newExplain(), a.newLogs(), a.newEvents())
	add(groupQueues, a.newQueue(), a.newList(), a.newGet(), a.newDescribe(), a.newCreate(), a.newDelete(), a.newStop(), a.newResume(),
		a.newPassThrough("edit", "Edit an object"), a.newPassThrough("patch", "Change fields of an object"))
	add(groupFleet, a.newCluster(), a.newTop())
	root.AddCommand(a.newVersion(), newOptions())
	root.SetUsageTemplate(withoutCommonFlags(root.UsageTemplate()))
	return root
}

const groupJobs, groupQueues, groupFleet = "jobs", "queues", "fleet"

// displayName is how the program is called: by kubectl, if its file is named like a plugin.
func displayName(argv0 string) string {
	name := strings.TrimSuffix(filepath.Base(argv0), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return "switchctl"
}

// runE is a command's RunE: from here on, errors are not about the command line.
func (a *app) runE(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return run(cmd.Context(), args)
	}
}

// newGroupCommand is a command that only has others below it.
func newGroupCommand(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	c.AddCommand(commands...)
	return c
}

// namespace is the one that -n or the context names.
func (a *app) namespace() (string, error) {
	name, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace: %w", err)
	}
	return name, nil
}
