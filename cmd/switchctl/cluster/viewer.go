package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/worker/job/all"
)

// noAccess takes the viewer away; the empty word leaves it as it is.
const noAccess = "none"

// viewerAccount is what the viewer is called for a hub of the default origin.
const viewerAccount = "switchyard-access"

// viewerOptions is what a command line says of the viewer, the account by which the hub shows its users their pods on a worker.
type viewerOptions struct {
	level, name string
	namespaces  []string
}

func (o *viewerOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.level, "access", "", "What the hub may show its users of their jobs there. One of: none, logs, exec (default: as it is)")
	f.StringSliceVar(&o.namespaces, "access-namespaces", nil, "With --access, only in these namespaces of the worker (default: in all)")
	f.StringVar(&o.name, "access-account", "", "Name of the ServiceAccount for --access (default: "+viewerAccount+", followed by an --origin that is not the default)")
	_ = c.RegisterFlagCompletionFunc("access", cobra.FixedCompletions([]string{noAccess, string(workeraccess.LevelLogs), string(workeraccess.LevelExec)},
		cobra.ShellCompDirectiveNoFileComp))
}

// grants tells whether the hub is to have a viewer.
func (o *viewerOptions) grants() bool { return o.level != "" && o.level != noAccess }

func (o *viewerOptions) validate() error {
	if !slices.Contains([]string{"", noAccess, string(workeraccess.LevelLogs), string(workeraccess.LevelExec)}, o.level) {
		return exit.Usagef("--access %s: want one of none, logs, exec", o.level)
	}
	if !o.grants() && len(o.namespaces) > 0 {
		return exit.Usagef("--access-namespaces says where --access logs or --access exec is granted: pass one of them")
	}
	for _, namespace := range o.namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return exit.Usagef("--access-namespaces: %q cannot be a namespace: %s", namespace, problems[0])
		}
	}
	if problems := validation.IsDNS1123Subdomain(o.name); o.name != "" && len(problems) > 0 {
		return exit.Usagef("--access-account: %q cannot be a ServiceAccount's name: %s", o.name, problems[0])
	}
	return nil
}

// account is the viewer that a registration grants. It may look at every kind that this version can dispatch, whichever the hub's
// configuration names.
func (o *viewerOptions) account(r *registerOptions) workeraccess.Viewer {
	v := workeraccess.Viewer{
		Namespace: r.namespace, ServiceAccount: o.name, Level: workeraccess.Level(o.level), Namespaces: slices.Compact(slices.Sorted(slices.Values(o.namespaces))),
		Jobs: slices.Concat(r.access.Jobs, viewedResources()),
	}
	if v.ServiceAccount == "" {
		v.ServiceAccount = r.nameOfOrigin(viewerAccount)
	}
	return v
}

// viewedResources are all kinds that this version can dispatch.
func viewedResources() []workeraccess.JobResource {
	return resourcesOf(slices.Concat(all.Kinds(), all.Mirrored()))
}

// fleetSides are the hub and one worker.
type fleetSides struct{ hub, worker *kubeclient.Client }

// registerViewer makes the viewer be as the command line says.
func registerViewer(ctx context.Context, a *cli.App, at fleetSides, name string, o *registerOptions) error {
	switch {
	case o.viewer.level == "":
		return nil
	case !o.viewer.grants():
		return removeViewer(ctx, a, at, name, account{o.namespace, o.viewer.account(o).ServiceAccount})
	}
	v := o.viewer.account(o)
	of := account{v.Namespace, v.ServiceAccount}
	if err := applyAccount(ctx, a, at.worker, v.Objects()); err != nil {
		return err
	}
	if err := deleteRights(ctx, a, at.worker, of, v.Objects()); err != nil {
		return err
	}
	raw, _, err := issueToken(ctx, a, at.worker, of, o.token)
	if err != nil {
		return err
	}
	secret := buildViewerSecret(a, name, v, raw)
	what, err := applyObject(ctx, at.hub, secret)
	if err != nil {
		return fmt.Errorf("give the hub its second account on the worker: %w", err)
	}
	a.Printf("hub: Secret %s %s", secret.Name, what)
	return nil
}

// buildViewerSecret is what the hub keeps of a viewer.
func buildViewerSecret(a *cli.App, cluster string, v workeraccess.Viewer, kubeconfig []byte) *corev1.Secret {
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.SystemNamespace, Name: workeraccess.ViewerSecretName(cluster),
			Labels: map[string]string{workeraccess.LevelLabel: string(v.Level)},
		},
		Data: map[string][]byte{kueue.MultiKueueConfigSecretKey: kubeconfig},
	}
	if len(v.Namespaces) > 0 {
		secret.Annotations = map[string]string{workeraccess.NamespacesAnnotation: strings.Join(v.Namespaces, ",")}
	}
	return secret
}

// deleteRights takes from a viewer all roles and bindings but those that are to stay: what was granted in other namespaces before.
func deleteRights(ctx context.Context, a *cli.App, worker *kubeclient.Client, of account, stay []client.Object) error {
	var found []client.Object
	for _, list := range []client.ObjectList{
		&rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{},
	} {
		if err := kubeclient.ListObjects(ctx, worker, list, client.MatchingLabels{workeraccess.RightsLabel: of.name}); err != nil {
			return err
		}
		found = append(found, kubeclient.ListItems(list)...)
	}
	for _, obj := range found {
		if err := cli.SetKind(obj); err != nil {
			return err
		}
		kept := slices.ContainsFunc(stay, func(s client.Object) bool {
			return s.GetObjectKind().GroupVersionKind() == obj.GetObjectKind().GroupVersionKind() && client.ObjectKeyFromObject(s) == client.ObjectKeyFromObject(obj)
		})
		if kept {
			continue
		}
		if err := deleteIfPresent(ctx, a, worker, "worker", obj); err != nil {
			return err
		}
	}
	return nil
}

// removeViewer takes the viewer away, on both sides as far as they can be reached: its token, its rights, itself.
func removeViewer(ctx context.Context, a *cli.App, at fleetSides, name string, of account) error {
	secret := &corev1.Secret{}
	found, err := kubeclient.GetIfAllowed(ctx, at.hub, client.ObjectKey{Namespace: a.SystemNamespace, Name: workeraccess.ViewerSecretName(name)}, secret)
	if err != nil {
		return err
	}
	if found {
		of.name = viewerOf(secret, of.name)
		if err := deleteIfPresent(ctx, a, at.hub, "hub", secret); err != nil {
			return err
		}
	}
	if at.worker == nil {
		return nil
	}
	if err := revokeTokens(ctx, a, at.worker, of, ""); err != nil {
		return err
	}
	if err := deleteRights(ctx, a, at.worker, of, nil); err != nil {
		return err
	}
	who := &corev1.ServiceAccount{}
	key := client.ObjectKey{Namespace: of.namespace, Name: of.name}
	if found, err = kubeclient.GetIfAllowed(ctx, at.worker, key, who); err != nil || !found {
		return err
	}
	return deleteIfPresent(ctx, a, at.worker, "worker", who)
}

// viewerOf is the account whose kubeconfig a Secret has, as the kubeconfig names it; else the name that it has otherwise.
func viewerOf(secret *corev1.Secret, otherwise string) string {
	config, err := clientcmd.Load(secret.Data[kueue.MultiKueueConfigSecretKey])
	if err != nil || config.Contexts[config.CurrentContext] == nil {
		return otherwise
	}
	return config.Contexts[config.CurrentContext].AuthInfo
}

// rotation is a token that has replaced others, which are still to be revoked.
type rotation struct {
	of    account
	bound string
}

// rotateViewer gives the hub a new token for its viewer; nothing if it has none.
func rotateViewer(ctx context.Context, a *cli.App, at fleetSides, name string, o *rotateOptions) ([]rotation, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: a.SystemNamespace, Name: workeraccess.ViewerSecretName(name)}
	if err := at.hub.Get(ctx, key, secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	of := account{o.namespace, viewerOf(secret, o.nameOfOrigin(viewerAccount))}
	bound, err := rotateToken(ctx, a, at, secret, of, o.duration)
	return []rotation{{of, bound}}, err
}
