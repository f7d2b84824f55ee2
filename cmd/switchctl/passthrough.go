package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newPassThrough is a verb of kubectl, for kinds that kueuectl passes on (contract: kueue-api.md 8.1).
func (a *app) newPassThrough(verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " TYPE NAME [FLAGS]", Short: short + " (kubectl " + verb + ")",
		Long:               short + ". Everything on the command line is passed to kubectl, which must be on the PATH.",
		DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			return a.kubectl(cmd.Context(), a.IOStreams, append([]string{verb}, a.kubectlArgs(args)...))
		},
	}
}

// kubectlArgs are arguments without our own flags, with short names of our kinds that kubectl does not know spelt out.
func (a *app) kubectlArgs(args []string) []string {
	var kept []string
	first := true
	for _, arg := range args {
		if strings.HasPrefix(arg, "--system-namespace=") {
			continue
		}
		if first && !strings.HasPrefix(arg, "-") {
			if kind := kindWord(arg); kind != "" && kind != ourPods {
				arg = string(kind)
				first = false
			}
		}
		kept = append(kept, arg)
	}
	return kept
}

// orKubectl runs our own command if the first argument is one of our kinds and all flags are known, else kubectl's verb.
func (a *app) orKubectl(verb string, own func() *cobra.Command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if arg == "-h" || arg == "--help" {
				return cmd.Help()
			}
		}
		native := own()
		native.SilenceErrors, native.SilenceUsage = true, true
		a.flags.AddFlags(native.Flags())
		native.Flags().StringVar(&a.system, "system-namespace", a.system, "")
		native.SetOut(io.Discard)
		native.SetErr(io.Discard)
		err := native.ParseFlags(args)
		words := native.Flags().Args()
		mine := len(words) > 0 && slices.Contains([]ours{ourWorkload, ourLocalQueue, ourClusterQueue, ourWorkerCluster}, kindWord(strings.SplitN(words[0], "/", 2)[0]))
		if format := native.Flag("output"); format != nil && strings.HasPrefix(format.Value.String(), "custom-columns") {
			mine = false // a printer that is kubectl's own
		}
		if err == nil && len(words) == 0 {
			return fmt.Errorf("which kind? %s workload, localqueue, clusterqueue or multikueuecluster, or a kind that kubectl knows", verb)
		}
		if err != nil || !mine {
			a.running = true
			return a.kubectl(cmd.Context(), a.IOStreams, append([]string{verb}, a.kubectlArgs(args)...))
		}
		if kind, name, ok := strings.Cut(words[0], "/"); ok { // TYPE/NAME, as kubectl takes it
			words = append([]string{kind, name}, words[1:]...)
		}
		a.running = true
		native.SetContext(cmd.Context())
		return native.RunE(native, words)
	}
}
