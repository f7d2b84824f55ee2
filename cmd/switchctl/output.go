package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// output is -o of a command that shows objects: a table, wide or not, or what kubectl's printers make of the objects.
type output struct {
	flags     *genericclioptions.PrintFlags
	noHeaders bool
	// single is set if the user named exactly one object, which is then not put into a list.
	single bool
}

func newOutput(cmd *cobra.Command) *output {
	o := &output{flags: genericclioptions.NewPrintFlags("").WithTypeSetter(scheme())}
	o.flags.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Leave the table's header out")
	formats := append([]string{"wide"}, o.flags.AllowedFormats()...)
	cmd.Flag("output").Usage = "Output format. One of: " + strings.Join(formats, ", ") + "."
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "wide", "name"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.validate() }
	return o
}

// validate finds a format that there is not, before anything is asked or done.
func (o *output) validate() error {
	if o.tabular() {
		return nil
	}
	if _, err := o.flags.ToPrinter(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

func (o *output) format() string { return *o.flags.OutputFormat }

// tabular tells whether a table is wanted.
func (o *output) tabular() bool { return o.format() == "" || o.format() == "wide" }

// printable is what a command shows.
type printable struct {
	// table of the objects.
	table *metav1.Table
	// objects themselves.
	objects []client.Object
}

func (a *app) printObjects(o *output, p printable) error {
	if o.tabular() {
		return printTable(a.Out, p.table, printers.PrintOptions{NoHeaders: o.noHeaders, Wide: o.format() == "wide"})
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return usagef("%w", err)
	}
	objects := p.objects
	for _, obj := range objects {
		if err := setKind(obj); err != nil {
			return err
		}
	}
	if o.format() == "name" || o.single { // the name printer takes no lists
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

// printPlainTable prints a table that is not about objects.
func (a *app) printPlainTable(table *metav1.Table) error {
	return printTable(a.Out, table, printers.PrintOptions{})
}

func printTable(to io.Writer, table *metav1.Table, options printers.PrintOptions) error {
	w := printers.GetNewTabWriter(to)
	if err := printers.NewTablePrinter(options).PrintObj(table, w); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return w.Flush()
}

// setKind gives an object its kind, which typed clients leave out.
func setKind(obj client.Object) error {
	kind, err := apiutil.GVKForObject(obj, scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", obj.GetName(), err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// printNothingFound tells on the error stream, as kubectl does, that there is nothing.
func (a *app) printNothingFound(namespace string) {
	if namespace == "" {
		_, _ = fmt.Fprintln(a.ErrOut, "No resources found")
		return
	}
	_, _ = fmt.Fprintf(a.ErrOut, "No resources found in %s namespace.\n", namespace)
}

// objectPointers are the items of a list as objects.
func objectPointers[T any, P interface {
	*T
	client.Object
}](items []T) []client.Object {
	var list []client.Object
	for i := range items {
		list = append(list, P(&items[i]))
	}
	return list
}

// listItems are the items of a list.
func listItems(list client.ObjectList) []client.Object {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil
	}
	var objects []client.Object
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			objects = append(objects, obj)
		}
	}
	return objects
}
