package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// Output is -o of a command that shows objects: a table, wide or not, or what kubectl's printers make of the objects.
type Output struct {
	flags     *genericclioptions.PrintFlags
	noHeaders bool
	// Single is set if the user named exactly one object, which is then not put into a list.
	Single bool
}

// NewOutput adds -o and --no-headers to a command. A format that does not exist ends the command before it asks anything.
func NewOutput(cmd *cobra.Command) *Output {
	o := &Output{flags: genericclioptions.NewPrintFlags("").WithTypeSetter(kubeclient.Scheme())}
	o.flags.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave the table's header out")
	formats := append([]string{"wide"}, o.flags.AllowedFormats()...)
	cmd.Flag("output").Usage = "Output format. One of: " + strings.Join(formats, ", ") + "."
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "wide", "name"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.Validate() }
	return o
}

// Validate finds a format that there is not, before anything is asked or done.
func (o *Output) Validate() error {
	if o.Tabular() {
		return nil
	}
	if _, err := o.flags.ToPrinter(); err != nil {
		return exit.Usagef("%w", err)
	}
	return nil
}

// Format is the value of -o; "" for a table.
func (o *Output) Format() string { return *o.flags.OutputFormat }

// Tabular tells whether a table is wanted.
func (o *Output) Tabular() bool { return o.Format() == "" || o.Format() == "wide" }

// Printable is what a command shows.
type Printable struct {
	// Table of the objects.
	Table *metav1.Table
	// Objects themselves.
	Objects []client.Object
}

// PrintObjects prints a table, or the objects in the format of -o: a single one by itself, others in a list.
func (a *App) PrintObjects(o *Output, p Printable) error {
	if o.Tabular() {
		return printTable(a.Out, p.Table, printers.PrintOptions{NoHeaders: o.noHeaders, Wide: o.Format() == "wide"})
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return exit.Usagef("%w", err)
	}
	objects := p.Objects
	for _, obj := range objects {
		if err := SetKind(obj); err != nil {
			return err
		}
	}
	if o.Format() == "name" || o.Single { // the name printer takes no lists
		for _, obj := range objects {
			if err := printer.PrintObj(obj, a.Out); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		return nil
	}
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, obj := range objects {
		list.Items = append(list.Items, runtime.RawExtension{Object: obj})
	}
	if err := printer.PrintObj(list, a.Out); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// PrintPlainTable prints a table that is not about objects.
func (a *App) PrintPlainTable(table *metav1.Table) error {
	return printTable(a.Out, table, printers.PrintOptions{})
}

// printTable prints with kubectl's printer, in aligned columns.
func printTable(to io.Writer, table *metav1.Table, options printers.PrintOptions) error {
	w := printers.GetNewTabWriter(to)
	if err := printers.NewTablePrinter(options).PrintObj(table, w); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return w.Flush()
}

// SetKind gives an object its kind, which typed clients leave out.
func SetKind(obj client.Object) error {
	kind, err := apiutil.GVKForObject(obj, kubeclient.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", obj.GetName(), err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// PrintNothingFound tells on the error stream, as kubectl does, that there is nothing.
func (a *App) PrintNothingFound(namespace string) {
	if namespace == "" {
		_, _ = fmt.Fprintln(a.ErrOut, "No resources found")
		return
	}
	_, _ = fmt.Fprintf(a.ErrOut, "No resources found in %s namespace.\n", namespace)
}

// ObjectPointers are the items of a list as objects.
func ObjectPointers[T any, P interface {
	*T
	client.Object
}](items []T) []client.Object {
	var list []client.Object
	for i := range items {
		list = append(list, P(&items[i]))
	}
	return list
}
