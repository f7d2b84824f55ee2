package manager

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the command line.
type options struct {
	configFile   string
	featureGates string
	zap          zap.Options
	// encoderChosen is true when a flag says how to write logs, tracesChosen when one says what gets a stack trace.
	encoderChosen, tracesChosen bool
}

// parse reads the flags. Besides the ones here there are --kubeconfig and the zap-... flags of controller-runtime.
func (p Program) parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.configFile, "config", "", "File with a Configuration of config.kueue.x-k8s.io; without it, the defaults.")
	flags.StringVar(&o.featureGates, "feature-gates", "",
		"Comma-separated Name=true or Name=false; excludes featureGates in the configuration file.")
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Name == "zap-encoder" || f.Name == "zap-devel" {
			o.encoderChosen = true
		}
		o.tracesChosen = o.tracesChosen || f.Name == "zap-stacktrace-level"
	})
	return o, nil
}

// logger writes lines for people on a terminal and JSON elsewhere, and stack traces only of panics, unless the flags say
// otherwise: where an error was logged says nothing that its text does not.
func (o options) logger(stderr io.Writer) logr.Logger {
	file, isFile := stderr.(*os.File)
	if !o.encoderChosen && isFile && term.IsTerminal(int(file.Fd())) {
		zap.ConsoleEncoder()(&o.zap)
	}
	if !o.tracesChosen {
		o.zap.StacktraceLevel = zapcore.PanicLevel
	}
	o.zap.ZapOpts = append(o.zap.ZapOpts, uberzap.WrapCore(func(core zapcore.Core) zapcore.Core { return lazyCore{Core: core} }))
	return zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(stderr))
}
