package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/show"
)

// workerFlags lead to a worker by the caller's own credentials. They take the names of the global flags, which then are
// --hub-kubeconfig and --hub-context.
type workerFlags struct {
	kubeconfig, context string
	namespace, account  string
	origin              string
}

func (a *app) addWorkerFlags(cmd *cobra.Command) *workerFlags {
	w := &workerFlags{}
	f := cmd.Flags()
	f.StringVar(&w.kubeconfig, "kubeconfig", "", "The kubeconfig file that has the worker's context")
	f.StringVar(&w.context, "context", "", "The worker's context, of somebody who may manage roles there")
	f.StringVar(a.flags.KubeConfig, "hub-kubeconfig", "", "The kubeconfig file that has the hub's context")
	f.StringVar(a.flags.Context, "hub-context", "", "The hub's context (default: the current one)")
	f.StringVar(&w.namespace, "worker-namespace", defaultSystemNamespace, "Namespace of Switchyard's program on the worker")
	f.StringVar(&w.account, "account", "", "Name of the hub's ServiceAccount on the worker, one for each hub (default: switchyard-hub, followed by an --origin that is not the default)")
	f.StringVar(&w.origin, "origin", configapi.DefaultMultiKueueOrigin, "The hub's multiKueue.origin, if it has another one")
	return w
}

func (w *workerFlags) hubAccess() workeraccess.Access {
	return workeraccess.Access{Namespace: w.namespace, ServiceAccount: w.accountName(), Origin: w.origin, Jobs: jobResources()}
}

// accountName keeps the hubs of one worker apart: what is done about one hub's account must not touch another's.
func (w *workerFlags) accountName() string {
	const name = "switchyard-hub"
	switch {
	case w.account != "":
		return w.account
	case w.origin == configapi.DefaultMultiKueueOrigin:
		return name
	}
	return name + "-" + w.origin
}

// connectBoth connects to the hub and to the worker, and makes sure that they are two.
func (a *app) connectBoth(ctx context.Context, w *workerFlags) (hub, worker *kubeClient, err error) {
	if w.kubeconfig == "" && w.context == "" {
		return nil, nil, usagef("which cluster is the worker? Pass its --context, its --kubeconfig, or both")
	}
	if problems := validation.IsDNS1123Subdomain(w.accountName()); len(problems) > 0 {
		return nil, nil, usagef("%q cannot be a ServiceAccount's name: choose one with --account (%s)", w.accountName(), problems[0])
	}
	if hub, err = a.sites.hub(); err != nil {
		return nil, nil, err
	}
	if worker, err = a.sites.context(w.kubeconfig, w.context); err != nil {
		return nil, nil, err
	}
	one, err := clusterIdentity(ctx, hub)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the hub: %w", err)
	}
	other, err := clusterIdentity(ctx, worker)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the worker: %w", err)
	}
	if one == other {
		return nil, nil, usagef("hub and worker are one and the same cluster: pass the worker's --context, or the hub's --hub-context")
	}
	return hub, worker, nil
}

// clusterIdentity is what two ways to one cluster have in common.
func clusterIdentity(ctx context.Context, s *kubeClient) (string, error) {
	system := &corev1.Namespace{}
	if err := s.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
		return "", err
	}
	return string(system.UID), nil
}

type registerOptions struct {
	*workerFlags
	account hubAccount
	// external are kinds of the hub's multiKueue.externalFrameworks, as Kind.version.group.
	external []string
	config   string
	dryRun   string
	timeout  time.Duration
}

func (a *app) newClusterRegister() *cobra.Command {
	o := &registerOptions{}
	c := &cobra.Command{
		Use: "register NAME", Short: "Register a worker cluster at the hub",
		Long: `Register a worker cluster at the hub. On the worker: an account for the hub with the rights it needs and no others, and a
token of limited life. On the hub: the kubeconfig Secret and the MultiKueueCluster. Then it waits until the hub is connected,
and says what is missing otherwise.

Here --kubeconfig and --context are the worker's; the hub is the current context, or that of --hub-context. It can be run
again at any time: it repairs what has changed, and issues a new token.

Jobs of kinds that the hub's multiKueue.externalFrameworks names need rights too. The kinds are found in the configuration of
the hub's program if that runs in the hub's cluster and you may read it; name them otherwise, each time: rights to what is not
named are taken back.`,
		Example: `  switchctl cluster register w1 --context w1 --config workers
  switchctl cluster register w1 --kubeconfig w1.yaml --address https://w1.example.com:6443 --dry-run=client`,
		Args: cobra.ExactArgs(1),
	}
	o.workerFlags = a.addWorkerFlags(c)
	f := c.Flags()
	f.StringVar(&o.account.address, "address", "", "URL under which the hub's pods reach the worker's API server (default: as in the kubeconfig)")
	f.DurationVar(&o.account.duration, "token-duration", 90*24*time.Hour, "How long the hub's token is good; see \"cluster rotate\"")
	f.BoolVar(&o.account.logs, "allow-logs", false, "Let the hub's account read pods, logs and events, for \"logs\" and \"events\"")
	f.StringSliceVar(&o.external, externalFlag, nil, "Kind.version.group of the hub's multiKueue.externalFrameworks, to let the hub run jobs of it there; can be repeated")
	f.StringVar(&o.config, "config", "", "MultiKueueConfig of the hub that is to list the cluster")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait until the hub is connected")
	addDryRun(c, &o.dryRun, "client")
	c.RunE = a.runE(func(ctx context.Context, args []string) error {
		o.account.access = o.hubAccess()
		return a.runRegister(ctx, args[0], o)
	})
	return c
}

func (a *app) runRegister(ctx context.Context, name string, o *registerOptions) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return usagef("%q cannot be a cluster's name: %s", name, problems[0])
	}
	named, err := parseKinds(o.external)
	if err != nil {
		return err
	}
	hub, worker, err := a.connectBoth(ctx, o.workerFlags)
	if err != nil {
		return err
	}
	facts := hubFacts{origin: o.origin}
	if facts.externalOptions, err = a.newExternalOptions(ctx, hub, named); err != nil {
		return err
	}
	if err := a.validateWorker(worker, facts.kinds()); err != nil {
		return err
	}
	external, err := externalResources(worker, facts.kinds())
	if err != nil {
		return err
	}
	o.account.access.Jobs = append(o.account.access.Jobs, external...)
	if o.dryRun == "client" {
		return a.registerManifests(name, worker, o)
	}
	if err := a.applyAccount(ctx, worker, o.account); err != nil {
		return err
	}
	raw, _, err := a.issueToken(ctx, worker, o.account)
	if err != nil {
		return err
	}
	if err := a.writeRegistration(ctx, hub, name, raw); err != nil {
		return err
	}
	if o.config != "" {
		if err := a.addToConfig(ctx, hub, o.config, name); err != nil {
			return err
		}
	}
	return a.awaitConnection(ctx, hub, name, o.timeout, facts)
}

// validateWorker refuses a worker on which the hub could do nothing.
func (a *app) validateWorker(worker *kubeClient, external []schema.GroupVersionKind) error {
	others, _ := checkExternalServed(worker, external)
	for _, f := range append(checkServer(worker), others...) {
		switch f.Result {
		case show.Failed:
			return fmt.Errorf("the worker is not ready for a hub: %s: %s; %s", f.Subject, f.Detail, f.Remedy)
		case show.Warned:
			a.warnFinding(f)
		case show.Passed:
		}
	}
	return nil
}

// warnFinding warns of a finding, once.
func (a *app) warnFinding(f show.Finding) {
	if slices.Contains(a.complaints, f) {
		return
	}
	a.complaints = append(a.complaints, f)
	a.warnf("%s: %s; %s", f.Subject, f.Detail, f.Remedy)
}

// writeRegistration writes what the hub keeps of a worker.
func (a *app) writeRegistration(ctx context.Context, hub *kubeClient, name string, raw []byte) error {
	secret, cluster := a.buildRegistration(name, raw)
	for _, obj := range []client.Object{secret, cluster} {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		what, err := applyObject(ctx, hub, obj)
		if err != nil {
			return fmt.Errorf("make the worker known to the hub: %w", err)
		}
		a.printf("hub: %s %s %s", kind, obj.GetName(), what)
	}
	return nil
}

// addToConfig puts a cluster into a MultiKueueConfig, at its end.
func (a *app) addToConfig(ctx context.Context, hub *kubeClient, config, cluster string) error {
	found := &kueue.MultiKueueConfig{}
	err := hub.Get(ctx, client.ObjectKey{Name: config}, found)
	if apierrors.IsNotFound(err) {
		found.Name, found.Spec.Clusters = config, []string{cluster}
		if err := hub.Create(ctx, found); err != nil {
			return fmt.Errorf("create MultiKueueConfig %s: %w", config, err)
		}
		a.printf("hub: MultiKueueConfig %s created", config)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read MultiKueueConfig %s: %w", config, err)
	}
	if slices.Contains(found.Spec.Clusters, cluster) {
		a.printf("hub: MultiKueueConfig %s unchanged", config)
		return nil
	}
	found.Spec.Clusters = append(found.Spec.Clusters, cluster)
	if err := hub.Update(ctx, found); err != nil {
		return fmt.Errorf("list the cluster in MultiKueueConfig %s: %w", config, err)
	}
	a.printf("hub: MultiKueueConfig %s configured", config)
	return nil
}

// waitForConnection waits until the hub says that it is connected to a cluster. It returns what the hub said last, also with an
// error.
func (a *app) waitForConnection(ctx context.Context, hub *kubeClient, name string, timeout time.Duration) (last show.Finding, err error) {
	err = a.waitFor(ctx, timeout, func(ctx context.Context) (bool, error) {
		cluster := &kueue.MultiKueueCluster{}
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return false, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
		}
		last = show.Connection(cluster)
		return last.Result == show.Passed, nil
	})
	return last, err
}

// awaitConnection waits for the hub, then says what is still missing.
func (a *app) awaitConnection(ctx context.Context, hub *kubeClient, name string, timeout time.Duration, facts hubFacts) error {
	last, err := a.waitForConnection(ctx, hub, name, timeout)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && last.Result != show.Failed:
		return err
	case err != nil:
		return notReadyf("the hub is not connected to %q after %s: %s; %s", name, timeout, last.Detail, last.Remedy)
	}
	a.printf("cluster %q is registered, and the hub is connected to it", name)
	findings, err := a.checkCluster(ctx, hub, name, facts)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Result != show.Passed {
			a.warnFinding(f)
		}
	}
	return nil
}

// registerManifests prints what a registration would create, with no token in it.
func (a *app) registerManifests(name string, worker *kubeClient, o *registerOptions) error {
	raw, err := buildKubeconfig(worker.config, o.account, "TOKEN")
	if err != nil {
		return err
	}
	secret, cluster := a.buildRegistration(name, nil)
	secret.Data, secret.StringData = nil, map[string]string{kueue.MultiKueueConfigSecretKey: string(raw)}
	if err := a.manifests("On the worker. The token comes from a TokenRequest of the ServiceAccount.", o.account.accountObjects()...); err != nil {
		return err
	}
	return a.manifests("On the hub.", secret, cluster)
}
