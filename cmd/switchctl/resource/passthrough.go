package resource

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"switchyard.dev/cmd/switchctl/cli"
)

// NewPassThrough is a verb of kubectl, for kinds that kueuectl passes on (contract: kueue-api.md 8.1).
func NewPassThrough(a *cli.App, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " TYPE NAME [FLAGS]", Short: short + " (kubectl " + verb + ")",
		Long:               short + ". Everything on the command line is passed to kubectl, which must be on the PATH.",
		DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Parsed = true
			return a.Kubectl(cmd.Context(), a.IOStreams, append([]string{verb}, kubectlArgs(a, args)...))
		},
	}
}

// kubectlArgs are arguments without our own flag, and with the name of one of our kinds, which kubectl may not know, spelt out: it is
// the first word that is no flag and no flag's value. Further words are names, whatever they look like.
func kubectlArgs(a *cli.App, args []string) []string {
	var kept []string
	kindSeen := false
	for at := 0; at < len(args); at++ {
		arg := args[at]
		flag, _, valued := strings.Cut(arg, "=")
		switch {
		case flag == "--system-namespace":
			if !valued {
				at++ // its value
			}
			continue
		case arg == "--":
			return append(kept, args[at:]...)
		case strings.HasPrefix(arg, "-") && arg != "-":
			if !valued && flagTakesValue(a, flag) && at+1 < len(args) {
				kept = append(kept, arg)
				at++
				arg = args[at]
			}
		case !kindSeen:
			kindSeen = true
			word, name, slash := strings.Cut(arg, "/")
			if kind := cli.LookupKind(word); kind != "" && kind != cli.KindPods {
				arg = string(kind)
				if slash {
					arg += "/" + name
				}
			}
		}
		kept = append(kept, arg)
	}
	return kept
}

// flagTakesValue tells whether the word after a flag of kubectl's is its value: one of the flags that every command has, or of those that
// its verbs have and people use.
func flagTakesValue(a *cli.App, flag string) bool {
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.Flags.AddFlags(common)
	name, long := strings.CutPrefix(flag, "--")
	known := common.Lookup(name)
	if !long && len(flag) == 2 { // -n, and not -nvision
		known = common.ShorthandLookup(flag[1:])
	}
	if known != nil {
		return known.NoOptDefVal == ""
	}
	return slices.Contains([]string{
		"-o", "--output", "-l", "--selector", "--field-selector", "-f", "--filename", "-k", "--kustomize", "-p", "--patch", "--patch-file",
		"--type", "--template", "--sort-by", "-L", "--label-columns", "--chunk-size", "--field-manager", "--subresource", "--grace-period", "--timeout",
	}, flag)
}

// ownOrKubectl runs our own command if the first argument is one of the kinds and all flags are known, else kubectl's verb.
func ownOrKubectl(a *cli.App, verb string, kinds []cli.ResourceKind, own func() *cobra.Command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if arg == "-h" || arg == "--help" {
				return cmd.Help()
			}
		}
		native := own()
		native.SilenceErrors, native.SilenceUsage = true, true
		a.Flags.AddFlags(native.Flags())
		native.Flags().StringVar(&a.SystemNamespace, "system-namespace", a.SystemNamespace, "")
		native.SetOut(io.Discard)
		native.SetErr(io.Discard)
		err := native.ParseFlags(args)
		words := native.Flags().Args()
		mine := len(words) > 0 && slices.Contains(kinds, cli.LookupKind(strings.SplitN(words[0], "/", 2)[0]))
		if format := native.Flag("output"); format != nil && strings.HasPrefix(format.Value.String(), "custom-columns") {
			mine = false // a printer that is kubectl's own
		}
		if err == nil && len(words) == 0 {
			return fmt.Errorf("which kind? %s workload, localqueue, clusterqueue or multikueuecluster, or a kind that kubectl knows", verb)
		}
		if err != nil || !mine {
			a.Parsed = true
			return a.Kubectl(cmd.Context(), a.IOStreams, append([]string{verb}, kubectlArgs(a, args)...))
		}
		if kind, name, ok := strings.Cut(words[0], "/"); ok { // TYPE/NAME, as kubectl takes it
			words = append([]string{kind, name}, words[1:]...)
		}
		a.Parsed = true
		native.SetContext(cmd.Context())
		return native.RunE(native, words)
	}
}
