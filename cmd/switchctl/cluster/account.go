package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
)

// boundLabel marks, on a worker, the Secrets that the tokens of an account are bound to; its value is the account. A token
// ends with its Secret, so that a token can be taken back before it expires.
const boundLabel = "switchyard.dev/tokens-of"

// account is a ServiceAccount on a worker that the hub has the token of.
type account struct{ namespace, name string }

// tokenOptions is what is said of a token and of the kubeconfig around it.
type tokenOptions struct {
	// duration is how long a token is to be good.
	duration time.Duration
	// address is where the hub finds the worker's API server; empty for where the caller does.
	address string
}

// jobResources are the kinds of job that this version can dispatch.
func jobResources() []workeraccess.JobResource {
	var list []workeraccess.JobResource
	for _, kind := range all.Kinds() {
		if kind.Mirrorable() {
			list = append(list, resourceName(kind.GVK()).GroupResource())
		}
	}
	return list
}

// followedResources are the kinds whose jobs on a worker follow changes of the hub's.
func followedResources() []workeraccess.JobResource {
	var list []workeraccess.JobResource
	for _, kind := range all.Kinds() {
		if kind.FollowsSpec() {
			list = append(list, resourceName(kind.GVK()).GroupResource())
		}
	}
	return list
}

// kindsOfHub are the kinds of job that this version can dispatch and the hub serves.
func kindsOfHub(hub *kubeclient.Client) []job.Integration {
	return slices.DeleteFunc(all.Kinds(), func(kind job.Integration) bool {
		_, err := hub.RESTMapper().RESTMapping(kind.GVK().GroupKind(), kind.GVK().Version)
		return !kind.Mirrorable() || err != nil
	})
}

// applyAccount makes an account and its rights be there.
func applyAccount(ctx context.Context, a *cli.App, worker *kubeclient.Client, objects []client.Object) error {
	for _, obj := range objects {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		what, err := applyObject(ctx, worker, obj)
		if err != nil {
			return fmt.Errorf("give the hub its rights on the worker: %w", err)
		}
		a.Printf("worker: %s %s %s", kind, obj.GetName(), what)
	}
	return nil
}

// issueToken makes a new token and returns a kubeconfig with it, and the name of the Secret that it is bound to.
func issueToken(ctx context.Context, a *cli.App, worker *kubeclient.Client, of account, o tokenOptions) (kubeconfig []byte, bound string, err error) {
	anchor := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: of.namespace, Name: of.name + "-" + a.Now().UTC().Format("20060102-150405"),
		Labels: map[string]string{boundLabel: of.name},
	}}
	if err := worker.Create(ctx, anchor); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, "", fmt.Errorf("create the Secret that the token is bound to: %w", err)
	}
	if err := worker.Get(ctx, client.ObjectKeyFromObject(anchor), anchor); err != nil {
		return nil, "", fmt.Errorf("read the Secret that the token is bound to: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(o.duration.Seconds())),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: anchor.Name, UID: anchor.UID},
	}}
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name}}
	if err := worker.SubResource("token").Create(ctx, who, request); err != nil {
		return nil, "", fmt.Errorf("request a token for ServiceAccount %s/%s: %w", who.Namespace, who.Name, err)
	}
	until := request.Status.ExpirationTimestamp.Time
	a.Printf("worker: token issued, good until %s", until.UTC().Format(time.RFC3339))
	if until.Before(a.Now().Add(o.duration * 9 / 10)) {
		a.Warnf("the worker's API server allows no longer: rotate before then (cluster rotate)")
	}
	kubeconfig, err = buildKubeconfig(worker.Config, of.name, o.address, request.Status.Token)
	return kubeconfig, anchor.Name, err
}

// buildKubeconfig is a kubeconfig with everything in it, as the hub's rules want it.
func buildKubeconfig(config *rest.Config, user, address, token string) ([]byte, error) {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read the worker's certificate authority: %w", err)
	}
	server := cmp.Or(address, config.Host)
	const name = "worker"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName}
	out.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	out.CurrentContext = name
	raw, err := clientcmd.Write(*out)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig for the hub: %w", err)
	}
	if _, err := kubeconfig.Parse(raw); err != nil {
		return nil, exit.Usagef("the hub would not accept a kubeconfig for %s: %w: give an address that it can use with --address", server, err)
	}
	return raw, nil
}

// revokeTokens takes back the account's tokens but the one that is bound to the named Secret; all of them for "".
func revokeTokens(ctx context.Context, a *cli.App, worker *kubeclient.Client, of account, but string) error {
	var anchors corev1.SecretList
	if err := worker.List(ctx, &anchors, client.InNamespace(of.namespace), client.MatchingLabels{boundLabel: of.name}); err != nil {
		return fmt.Errorf("list the Secrets that tokens are bound to: %w", err)
	}
	for i := range anchors.Items {
		if anchors.Items[i].Name == but {
			continue
		}
		if err := client.IgnoreNotFound(worker.Delete(ctx, &anchors.Items[i])); err != nil {
			return fmt.Errorf("revoke the token of Secret %s: %w", anchors.Items[i].Name, err)
		}
		a.Printf("worker: token of Secret %s revoked", anchors.Items[i].Name)
	}
	return nil
}

// buildRegistration is what the hub keeps of a worker.
func buildRegistration(a *cli.App, name string, kubeconfig []byte) (*corev1.Secret, *kueue.MultiKueueCluster) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.SystemNamespace, Name: name + "-kubeconfig"},
		Data:       map[string][]byte{kueue.MultiKueueConfigSecretKey: kubeconfig},
	}
	cluster := &kueue.MultiKueueCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: kueue.GroupVersion.String(), Kind: "MultiKueueCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.MultiKueueClusterSpec{ClusterSource: kueue.ClusterSource{
			KubeConfig: &kueue.KubeConfig{Location: secret.Name, LocationType: kueue.SecretLocationType},
		}},
	}
	return secret, cluster
}

// resourceName is the resource of a kind whose plural is regular, as those of all jobs are.
func resourceName(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural
}
