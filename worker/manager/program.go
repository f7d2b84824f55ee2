package manager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
)

// Settings are what the configuration file and the flags say, validated and with defaults. FeatureGates of the
// Configuration has every gate, also those that were given by flag, so that it and Gates agree.
type Settings struct {
	*configapi.Configuration
	Gates features.Set
}

// Part is a piece of a program: a controller, a loop, a set of webhooks. Add gives it to the manager, which starts it.
type Part struct {
	// Name for logs and errors.
	Name string
	Add  func(context.Context, ctrl.Manager) error
}

// Program is one executable.
type Program struct {
	// Name as in the command line, such as "worker".
	Name string
	// Scheme knows every type that the parts use.
	Scheme func() (*runtime.Scheme, error)
	// API is the group and version whose kinds the API server must serve before the parts are added.
	API schema.GroupVersion
	// Compose makes the parts of the program, and what reads the metrics that it serves. An error says what is wrong with the settings.
	Compose func(Settings) ([]Part, prometheus.Gatherer, error)
}

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitBadInput = 2
)

// Main runs the program with the process's arguments until it is told to stop by SIGTERM or SIGINT, and returns the exit
// code: 0 after an orderly stop, 2 when flags or configuration are wrong, 1 for any other failure.
func (p Program) Main() int {
	return p.Run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stderr)
}

// Run is Main with everything that belongs to the process as an argument. The logger and the metrics registry are the
// process's own nevertheless, so at most one program may run in a process.
func (p Program) Run(ctx context.Context, args []string, stderr io.Writer) int {
	setMemoryLimit(os.LookupEnv)
	options, err := p.parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return exitBadInput
	}
	log := options.logger(stderr)
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	settings, err := options.settings()
	if err != nil {
		log.Error(err, "Wrong configuration", "file", options.configFile)
		return exitBadInput
	}
	parts, gatherer, err := p.Compose(settings)
	if err != nil {
		log.Error(err, "The configuration asks for what this program does not have", "file", options.configFile)
		return exitBadInput
	}
	if err := p.serve(ctx, settings, parts, gatherer, log); err != nil {
		log.Error(err, "The program failed")
		return exitFailed
	}
	log.Info("The program has stopped")
	return exitOK
}

// settings reads the configuration, with the feature gates of the command line over those of the file. All gates are
// spelled out afterwards.
func (o options) settings() (Settings, error) {
	cfg, err := config.LoadFile(o.configFile)
	if err != nil {
		return Settings{}, err
	}
	gates, err := features.Resolve(cfg.FeatureGates, o.featureGates)
	if err != nil {
		return Settings{}, err
	}
	cfg.FeatureGates = map[string]bool{}
	for _, name := range features.Names() {
		cfg.FeatureGates[string(name)] = gates.Enabled(name)
	}
	return Settings{Configuration: cfg, Gates: gates}, nil
}

// serve runs the manager with the parts until the context ends.
func (p Program) serve(ctx context.Context, settings Settings, parts []Part, gatherer prometheus.Gatherer, log logr.Logger) error {
	scheme, err := p.Scheme()
	if err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	connection, err := connect(settings)
	if err != nil {
		return err
	}
	// First of all: the manager's cache has to know whether its kinds are namespaced.
	if err := p.waitForKinds(ctx, connection, scheme, log); err != nil || ctx.Err() != nil {
		return err
	}
	mgr, err := newManager(ctx, connection, settings, scheme, gatherer)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := part.Add(ctx, mgr); err != nil {
			return fmt.Errorf("add part %s: %w", part.Name, err)
		}
	}
	if idle := settings.Gates.Unheeded(); len(idle) > 0 {
		log.Info("Feature gates were set that change nothing in this version", "gates", idle)
	}
	log.Info("Starting", "program", p.Name, "parts", len(parts), "server", connection.Host, "namespace", *settings.Namespace)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// connect finds the local cluster: by --kubeconfig, by the environment variable KUBECONFIG, or from within a pod.
func connect(settings Settings) (*rest.Config, error) {
	connection, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	connection.QPS = *settings.ClientConnection.QPS
	connection.Burst = int(*settings.ClientConnection.Burst)
	return connection, nil
}
