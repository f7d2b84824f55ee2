package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"switchyard.dev/cmd/switchctl/access"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/cluster"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/pod"
	"switchyard.dev/cmd/switchctl/queue"
	"switchyard.dev/cmd/switchctl/resource"
	"switchyard.dev/cmd/switchctl/top"
	"switchyard.dev/cmd/switchctl/workload"
)

// runCommandLine runs a command line, the program's own name first, and returns the exit code.
func runCommandLine(ctx context.Context, a *cli.App, argv []string) int {
	root := newRootCommand(a, argv[0])
	root.SetArgs(argv[1:])
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !a.Parsed {
		var o *exit.Error
		if !errors.As(err, &o) {
			err = exit.Usagef("%w\n%sSee '%s --help'.", err, useLine(command), command.CommandPath())
		}
	}
	var kubectl *cli.KubectlError
	if errors.As(err, &kubectl) {
		return kubectl.Code // it has said why
	}
	if exit.Code(err) == exit.Interrupted {
		return exit.Interrupted // whoever interrupted it knows
	}
	if err != nil {
		_, _ = fmt.Fprintln(a.ErrOut, "error:", cli.PrintableLines(err.Error()))
		if text := exit.AdviceFor(err); text != "" {
			_, _ = fmt.Fprintln(a.ErrOut, "hint:", text)
		}
	}
	return exit.Code(err)
}

// useLine is what should have been typed, if the command is one that does something.
func useLine(c *cobra.Command) string {
	if c.HasSubCommands() {
		return ""
	}
	return "Usage: " + c.UseLine() + "\n"
}

// newRootCommand is the program with all its commands, in the groups of its help.
func newRootCommand(a *cli.App, argv0 string) *cobra.Command {
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
	a.Flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&a.SystemNamespace, "system-namespace", a.SystemNamespace, "Namespace of Switchyard's program, and of kubeconfig Secrets, on the hub")
	root.AddGroup(
		&cobra.Group{ID: groupJobs, Title: "Jobs:"},
		&cobra.Group{ID: groupQueues, Title: "Queues and workloads:"},
		&cobra.Group{ID: groupFleet, Title: "Worker clusters:"},
	)
	root.AddCommand(exit.NewCodesTopic())
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupJobs, workload.NewSubmit(a), workload.NewExplain(a), pod.NewPods(a), pod.NewLogs(a), pod.NewEvents(a), pod.NewExec(a), pod.NewAttach(a),
		pod.NewPortForward(a), pod.NewCopy(a), access.NewCommand(a))
	add(groupQueues, queue.NewCommand(a), resource.NewList(a), resource.NewGet(a), resource.NewDescribe(a), resource.NewCreate(a),
		resource.NewDelete(a), resource.NewStop(a), resource.NewResume(a),
		resource.NewPassThrough(a, "edit", "Edit an object"), resource.NewPassThrough(a, "patch", "Change fields of an object"))
	add(groupFleet, cluster.NewCommand(a), top.NewCommand(a))
	root.AddCommand(newVersion(a), newOptions())
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
