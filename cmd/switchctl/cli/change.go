package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// ChangeOptions is what commands have in common that change an object: -o and --dry-run.
type ChangeOptions struct {
	flags  *genericclioptions.PrintFlags
	DryRun string
	// marked is set once the printer says that it was a dry run.
	marked bool
}

// NewChangeOptions adds the flags; done is what is said of the object afterwards, such as "stopped".
func NewChangeOptions(cmd *cobra.Command, done string) *ChangeOptions {
	o := &ChangeOptions{flags: genericclioptions.NewPrintFlags(done).WithTypeSetter(kubeclient.Scheme())}
	o.flags.AddFlags(cmd)
	AddDryRun(cmd, &o.DryRun, "client", "server")
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.validate() }
	return o
}

// validate finds a format that there is not, before anything is changed.
func (o *ChangeOptions) validate() error {
	if _, err := o.flags.ToPrinter(); err != nil {
		return exit.Usagef("%w", err)
	}
	return nil
}

// ClientDryRun tells whether nothing is to be sent.
func (o *ChangeOptions) ClientDryRun() bool { return o.DryRun == "client" }

// ServerDryRun tells whether the server is to check and change nothing.
func (o *ChangeOptions) ServerDryRun() bool { return o.DryRun == "server" }

// PrintChanged prints the object after the change.
func (a *App) PrintChanged(o *ChangeOptions, obj client.Object) error {
	if o.DryRun != "none" && !o.marked {
		if err := o.flags.Complete("%s (" + o.DryRun + " dry run)"); err != nil {
			return exit.Usagef("%w", err)
		}
		o.marked = true
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if err := printer.PrintObj(obj, a.Out); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// PatchObject changes an object that was read, and says so.
func (a *App) PatchObject(ctx context.Context, to *kubeclient.Client, obj client.Object, o *ChangeOptions, edit func()) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	edit()
	if !o.ClientDryRun() {
		var options []client.PatchOption
		if o.ServerDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := to.Patch(ctx, obj, client.MergeFrom(before), options...); err != nil {
			return fmt.Errorf("change %s: %w", obj.GetName(), err)
		}
	}
	return a.PrintChanged(o, obj)
}

// CreateObject creates an object, and says so.
func (a *App) CreateObject(ctx context.Context, to *kubeclient.Client, obj client.Object, o *ChangeOptions) error {
	if !o.ClientDryRun() {
		var options []client.CreateOption
		if o.ServerDryRun() {
			options = append(options, client.DryRunAll)
		}
		if err := to.Create(ctx, obj, options...); err != nil {
			return fmt.Errorf("create %s: %w", obj.GetName(), err)
		}
	}
	return a.PrintChanged(o, obj)
}
