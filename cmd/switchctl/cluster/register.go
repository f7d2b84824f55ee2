package cluster

import (
	"cmp"
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
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/manifest"
	"switchyard.dev/cmd/switchctl/show"
)

// workerFlags lead to a worker by the caller's own credentials. They take the names of the global flags, which then are
// --hub-kubeconfig and --hub-context.
type workerFlags struct {
	kubeconfig, context string
	namespace, name     string
	origin              string
}

// addWorkerFlags adds the flags of commands about access to a worker. There, --kubeconfig and --context are the worker's.
func addWorkerFlags(a *cli.App, cmd *cobra.Command) *workerFlags {
	w := &workerFlags{}
	f := cmd.Flags()
	f.StringVar(&w.kubeconfig, "kubeconfig", "", "The kubeconfig file that has the worker's context")
	f.StringVar(&w.context, "context", "", "The worker's context, of somebody who may manage roles there")
	f.StringVar(a.Flags.KubeConfig, "hub-kubeconfig", "", "The kubeconfig file that has the hub's context")
	f.StringVar(a.Flags.Context, "hub-context", "", "The hub's context (default: the current one)")
	f.StringVar(&w.namespace, "worker-namespace", cli.DefaultSystemNamespace, "Namespace of Switchyard's program on the worker")
	f.StringVar(&w.name, "account", "", "Name of the hub's ServiceAccount on the worker, one for each hub (default: switchyard-hub, followed by an --origin that is not the default)")
	f.StringVar(&w.origin, "origin", configapi.DefaultMultiKueueOrigin, "The hub's multiKueue.origin, if it has another one")
	return w
}

func (w *workerFlags) hubAccess() workeraccess.Access {
	return workeraccess.Access{Namespace: w.namespace, ServiceAccount: w.accountName(), Origin: w.origin, Jobs: jobResources(), Followed: followedResources()}
}

// account is the one by which the hub dispatches.
func (w *workerFlags) account() account { return account{w.namespace, w.accountName()} }

// accountName keeps the hubs of one worker apart: what is done about one hub's account must not touch another's.
func (w *workerFlags) accountName() string {
	return cmp.Or(w.name, w.nameOfOrigin("switchyard-hub"))
}

// nameOfOrigin is a name with the hub's origin, unless that is the default.
func (w *workerFlags) nameOfOrigin(name string) string {
	if w.origin == configapi.DefaultMultiKueueOrigin {
		return name
	}
	return name + "-" + w.origin
}

// connectBoth connects to the hub and to the worker, and makes sure that they are two.
func connectBoth(ctx context.Context, a *cli.App, w *workerFlags) (hub, worker *kubeclient.Client, err error) {
	if w.kubeconfig == "" && w.context == "" {
		return nil, nil, exit.Usagef("which cluster is the worker? Pass its --context, its --kubeconfig, or both")
	}
	if problems := validation.IsDNS1123Subdomain(w.accountName()); len(problems) > 0 {
		return nil, nil, exit.Usagef("%q cannot be a ServiceAccount's name: choose one with --account (%s)", w.accountName(), problems[0])
	}
	if hub, err = a.Clusters.Hub(); err != nil {
		return nil, nil, err
	}
	if worker, err = a.Clusters.Context(w.kubeconfig, w.context); err != nil {
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
		return nil, nil, exit.Usagef("hub and worker are one and the same cluster: pass the worker's --context, or the hub's --hub-context")
	}
	return hub, worker, nil
}

// clusterIdentity is what two ways to one cluster have in common.
func clusterIdentity(ctx context.Context, s *kubeclient.Client) (string, error) {
	system := &corev1.Namespace{}
	if err := s.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
		return "", err
	}
	return string(system.UID), nil
}

type registerOptions struct {
	*workerFlags
	access workeraccess.Access
	token  tokenOptions
	viewer viewerOptions
	// external are kinds of the hub's multiKueue.externalFrameworks, as Kind.version.group.
	external []string
	// pods lets the hub run pods there.
	pods    bool
	config  string
	dryRun  string
	timeout time.Duration
}

// newRegister is "cluster register".
func newRegister(a *cli.App) *cobra.Command {
	o := &registerOptions{}
	c := &cobra.Command{
		Use: "register NAME", Short: "Register a worker cluster at the hub",
		Long: `Register a worker cluster at the hub. On the worker: an account for the hub with the rights it needs and no others, and a
token of limited life. On the hub: the kubeconfig Secret and the MultiKueueCluster. Then it waits until the hub is connected,
and says what is missing otherwise.

Here --kubeconfig and --context are the worker's; the hub is the current context, or that of --hub-context. It can be run
again at any time: it repairs what has changed, and issues a new token.

Jobs of kinds that the hub's multiKueue.externalFrameworks names need rights too, and pods and sets of pods if its
integrations.frameworks has them. Both are found in the configuration of the hub's program if that runs in the hub's cluster and you may read it; name them
otherwise, each time: rights to what is not named are taken back. Kinds that the hub's JobKinds declare are found by
themselves.

With --access, users of the hub look after their jobs there through the hub, as far as they may on the hub (logs, exec, attach,
port-forward; see "access"). For that the hub gets a second account, which reads and changes nothing in the API. Without
--access, what was granted before stays.`,
		Example: `  switchctl cluster register w1 --context w1 --config workers
  switchctl cluster register w1 --context w1 --access exec --access-namespaces vision,language
  switchctl cluster register w1 --kubeconfig w1.yaml --address https://w1.example.com:6443 --dry-run=client`,
		Args: cobra.ExactArgs(1),
	}
	o.workerFlags = addWorkerFlags(a, c)
	f := c.Flags()
	f.StringVar(&o.token.address, "address", "", "URL under which the hub's pods reach the worker's API server (default: as in the kubeconfig)")
	f.DurationVar(&o.token.duration, "token-duration", 90*24*time.Hour, "How long the hub's token is good; see \"cluster rotate\"")
	o.viewer.addFlags(c)
	f.StringSliceVar(&o.external, externalFlag, nil, "Kind.version.group of the hub's multiKueue.externalFrameworks, to let the hub run jobs of it there; can be repeated")
	f.BoolVar(&o.pods, podsFlag, false, "Let the hub run pods and sets of pods there, if its integrations.frameworks has any and that cannot be read")
	f.StringVar(&o.config, "config", "", "MultiKueueConfig of the hub that is to list the cluster")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait until the hub is connected")
	cli.AddDryRun(c, &o.dryRun, "client")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		o.access = o.hubAccess()
		return runRegister(ctx, a, args[0], o)
	})
	return c
}

// runRegister checks everything before it writes anything. It can be repeated: what is there already is repaired.
func runRegister(ctx context.Context, a *cli.App, name string, o *registerOptions) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return exit.Usagef("%q cannot be a cluster's name: %s", name, problems[0])
	}
	if err := o.viewer.validate(); err != nil {
		return err
	}
	named, err := parseKinds(o.external)
	if err != nil {
		return err
	}
	hub, worker, err := connectBoth(ctx, a, o.workerFlags)
	if err != nil {
		return err
	}
	facts := hubFacts{origin: o.origin}
	if facts.externalOptions, err = newExternalOptions(ctx, a, hub, externalOptions{named: named, pods: o.pods}); err != nil {
		return err
	}
	if err := validateWorker(a, hub, worker, facts.kinds()); err != nil {
		return err
	}
	external, err := externalResources(worker, facts.kinds())
	if err != nil {
		return err
	}
	waiting, followed := facts.waitingResources()
	o.access.Jobs = slices.Concat(o.access.Jobs, external, waiting)
	o.access.Followed = append(o.access.Followed, followed...)
	if o.dryRun == "client" {
		return registerManifests(a, name, worker, o)
	}
	if err := applyAccount(ctx, a, worker, o.access.Objects()); err != nil {
		return err
	}
	raw, _, err := issueToken(ctx, a, worker, o.account(), o.token)
	if err != nil {
		return err
	}
	if err := writeRegistration(ctx, a, hub, name, raw); err != nil {
		return err
	}
	if err := registerViewer(ctx, a, fleetSides{hub, worker}, name, o); err != nil {
		return err
	}
	if o.config != "" {
		if err := addToConfig(ctx, a, hub, o.config, name); err != nil {
			return err
		}
	}
	return awaitConnection(ctx, a, hub, name, o.timeout, facts)
}

// validateWorker refuses a worker on which the hub could do nothing.
func validateWorker(a *cli.App, hub, worker *kubeclient.Client, external []schema.GroupVersionKind) error {
	others, _ := checkExternalServed(worker, external)
	for _, f := range append(checkServer(hub, worker), others...) {
		switch f.Result {
		case show.Failed:
			return fmt.Errorf("the worker is not ready for a hub: %s: %s; %s", f.Subject, f.Detail, f.Remedy)
		case show.Warned:
			warnFinding(a, f)
		case show.Passed:
		}
	}
	return nil
}

// warnFinding warns of a finding, once.
func warnFinding(a *cli.App, f show.Finding) {
	if slices.Contains(a.Warnings, f) {
		return
	}
	a.Warnings = append(a.Warnings, f)
	a.Warnf("%s: %s; %s", f.Subject, f.Detail, f.Remedy)
}

// writeRegistration writes what the hub keeps of a worker.
func writeRegistration(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, raw []byte) error {
	secret, cluster := buildRegistration(a, name, raw)
	for _, obj := range []client.Object{secret, cluster} {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		what, err := applyObject(ctx, hub, obj)
		if err != nil {
			return fmt.Errorf("make the worker known to the hub: %w", err)
		}
		a.Printf("hub: %s %s %s", kind, obj.GetName(), what)
	}
	return nil
}

// addToConfig puts a cluster into a MultiKueueConfig, at its end.
func addToConfig(ctx context.Context, a *cli.App, hub *kubeclient.Client, config, cluster string) error {
	found := &kueue.MultiKueueConfig{}
	err := hub.Get(ctx, client.ObjectKey{Name: config}, found)
	if apierrors.IsNotFound(err) {
		found.Name, found.Spec.Clusters = config, []string{cluster}
		if err := hub.Create(ctx, found); err != nil {
			return fmt.Errorf("create MultiKueueConfig %s: %w", config, err)
		}
		a.Printf("hub: MultiKueueConfig %s created", config)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read MultiKueueConfig %s: %w", config, err)
	}
	if slices.Contains(found.Spec.Clusters, cluster) {
		a.Printf("hub: MultiKueueConfig %s unchanged", config)
		return nil
	}
	found.Spec.Clusters = append(found.Spec.Clusters, cluster)
	if err := hub.Update(ctx, found); err != nil {
		return fmt.Errorf("list the cluster in MultiKueueConfig %s: %w", config, err)
	}
	a.Printf("hub: MultiKueueConfig %s configured", config)
	return nil
}

// waitForConnection waits until the hub says that it is connected to a cluster. It returns what the hub said last, also with an
// error.
func waitForConnection(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, timeout time.Duration) (last show.Finding, err error) {
	err = a.WaitFor(ctx, timeout, func(ctx context.Context) (bool, error) {
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
func awaitConnection(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, timeout time.Duration, facts hubFacts) error {
	last, err := waitForConnection(ctx, a, hub, name, timeout)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && last.Result != show.Failed:
		return err
	case err != nil:
		return exit.NotReadyf("the hub is not connected to %q after %s: %s; %s", name, timeout, last.Detail, last.Remedy)
	}
	a.Printf("cluster %q is registered, and the hub is connected to it", name)
	findings, err := checkCluster(ctx, a, hub, name, facts)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Result != show.Passed {
			warnFinding(a, f)
		}
	}
	return nil
}

// registerManifests prints what a registration would create, with no token in it.
func registerManifests(a *cli.App, name string, worker *kubeclient.Client, o *registerOptions) error {
	raw, err := buildKubeconfig(worker.Config, o.accountName(), o.token.address, "TOKEN")
	if err != nil {
		return err
	}
	secret, cluster := buildRegistration(a, name, nil)
	secret.Data, secret.StringData = nil, map[string]string{kueue.MultiKueueConfigSecretKey: string(raw)}
	onWorker, onHub := o.access.Objects(), []client.Object{secret, cluster}
	if o.viewer.grants() {
		v := o.viewer.account(o)
		raw, err := buildKubeconfig(worker.Config, v.ServiceAccount, o.token.address, "TOKEN")
		if err != nil {
			return err
		}
		secret := buildViewerSecret(a, name, v, nil)
		secret.Data, secret.StringData = nil, map[string]string{kueue.MultiKueueConfigSecretKey: string(raw)}
		onWorker, onHub = append(onWorker, v.Objects()...), append(onHub, secret)
	}
	if err := manifest.Print(a, "On the worker. Tokens come from TokenRequests of the ServiceAccounts.", onWorker...); err != nil {
		return err
	}
	return manifest.Print(a, "On the hub.", onHub...)
}
