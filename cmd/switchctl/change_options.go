package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// changeOptions is what commands have in common that change an object: -o and --dry-run.
type changeOptions struct {
	flags *genericclioptions.PrintFlags
	run   string
	// marked is set once the printer says that it was a dry run.
	marked bool
}

// newChangeOptions adds the flags; done is what is said of the object afterwards, such as "stopped".
func newChangeOptions(cmd *cobra.Command, done string) *changeOptions {
	o := &changeOptions{flags: genericclioptions.NewPrintFlags(done).WithTypeSetter(scheme())}
	o.flags.AddFlags(cmd)
	addDryRun(cmd, &o.run, "client", "server")
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.validate() }
	return o
}

// validate finds a format that there is not, before anything is changed.
func (o *changeOptions) validate() error {
	if _, err := o.flags.ToPrinter(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// clientDryRun tells whether nothing is to be sent.
func (o *changeOptions) clientDryRun() bool { return o.run == "client" }

// serverDryRun tells whether the server is to check and change nothing.
func (o *changeOptions) serverDryRun() bool { return o.run == "server" }

// printChanged prints the object after the change.
func (a *app) printChanged(o *changeOptions, obj client.Object) error {
	if o.run != "none" && !o.marked {
		if err := o.flags.Complete("%s (" + o.run + " dry run)"); err != nil {
			return usagef("%w", err)
		}
		o.marked = true
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return usagef("%w", err)
	}
	if err := printer.PrintObj(obj, a.Out); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// patchObject changes an object that was read, and says so.
func (a *app) patchObject(ctx context.Context, to *kubeClient, obj client.Object, o *changeOptions, edit func()) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	edit()
	if !o.clientDryRun() {
		var options []client.PatchOption
		if o.serverDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := to.Patch(ctx, obj, client.MergeFrom(before), options...); err != nil {
			return fmt.Errorf("change %s: %w", obj.GetName(), err)
		}
	}
	return a.printChanged(o, obj)
}

// createObject creates an object, and says so.
func (a *app) createObject(ctx context.Context, to *kubeClient, obj client.Object, o *changeOptions) error {
	if !o.clientDryRun() {
		var options []client.CreateOption
		if o.serverDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := to.Create(ctx, obj, options...); err != nil {
			return fmt.Errorf("create %s: %w", obj.GetName(), err)
		}
	}
	return a.printChanged(o, obj)
}

// askConfirmation asks a person; without one, the answer is no.
func (a *app) askConfirmation(format string, args ...any) bool {
	_, _ = fmt.Fprintf(a.ErrOut, format+" [y/N] ", sanitizeText(args)...)
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}
