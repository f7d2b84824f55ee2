package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newOptions shows the flags that every command has, which the help of each leaves out, as kubectl's does.
func newOptions() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "The flags that every command has", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			cmd.Print("Flags that can be passed to any command:\n\n", cmd.Root().PersistentFlags().FlagUsages())
		},
	}
}

// withoutCommonFlags is a template of usage that says where the common flags are, instead of showing them each time.
func withoutCommonFlags(template string) string {
	const (
		local     = `{{if .HasAvailableLocalFlags}}`
		inherited = `{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}`
	)
	template = strings.Replace(template, local, `{{if and .HasParent .HasAvailableLocalFlags}}`, 1)
	template = strings.Replace(template, "Global Flags:\n"+inherited, `Use "{{.Root.CommandPath}} options" for the flags that every command has.`, 1)
	return template
}
