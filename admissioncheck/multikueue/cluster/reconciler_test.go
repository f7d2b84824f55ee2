package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/clock"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/fleet"
	configapi "switchyard.dev/apis/config/v1beta2"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

const sampleKubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: w1, cluster: {server: "https://w1.example.com"}}]
users: [{name: hub, user: {token: secret}}]
contexts: [{name: main, context: {cluster: w1, user: hub}}]
current-context: main
`

func kubeconfigSecret(name, key, content string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: name}, Data: map[string][]byte{key: []byte(content)}}
}

func TestWhyAClusterHasNoCredentials(t *testing.T) {
	c := newBuilder(t, testScheme(t)).WithObjects(
		kubeconfigSecret("good", "kubeconfig", sampleKubeconfig), kubeconfigSecret("other-key", "config", sampleKubeconfig),
		kubeconfigSecret("http", "kubeconfig", strings.Replace(sampleKubeconfig, "https:", "http:", 1)),
		kubeconfigSecret("no-context", "kubeconfig", strings.Replace(sampleKubeconfig, "current-context: main", "", 1)),
	).Build()
	secretRef := func(name string) kueue.ClusterSource {
		return kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: name}}
	}
	profileRef := func(name string) kueue.ClusterSource {
		return kueue.ClusterSource{ClusterProfileRef: &kueue.ClusterProfileReference{Name: name}}
	}
	providers := []configapi.ClusterProfileAccessProvider{{Name: "p", ExecConfig: clientcmdv1.ExecConfig{
		Command: "plugin", APIVersion: "client.authentication.k8s.io/v1",
	}}}
	profiles := fakeProfiles{
		"good": {Name: "p", Cluster: clientcmdv1.Cluster{Server: "https://w1.example.com"}},
		"http": {Name: "p", Cluster: clientcmdv1.Cluster{Server: "http://w1.example.com"}},
		"else": {Name: "other", Cluster: clientcmdv1.Cluster{Server: "https://w1.example.com"}},
	}
	for _, tc := range []struct {
		name      string
		source    kueue.ClusterSource
		profiles  bool
		providers []configapi.ClusterProfileAccessProvider
		reason    kueue.Reason
		message   string
	}{
		{name: "a good Secret", source: secretRef("good")},
		{
			name: "no such Secret", source: secretRef("none"), reason: kueue.ReasonBadKubeConfig,
			message: `load client config failed: secrets "none" not found`,
		},
		{
			name: "another key", source: secretRef("other-key"), reason: kueue.ReasonBadKubeConfig,
			message: `load client config failed: key "kubeconfig" not found in secret "other-key"`,
		},
		{
			name: "an insecure kubeconfig", source: secretRef("http"), reason: kueue.ReasonInsecureKubeConfig,
			message: "load client config failed: server URL must use https for cluster w1",
		},
		{name: "a kubeconfig without a context", source: secretRef("no-context"), reason: kueue.ReasonBadKubeConfig},
		{
			name:   "a path outside of the prefix",
			source: kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: "/etc/passwd", LocationType: kueue.PathLocationType}},
			reason: kueue.ReasonBadKubeConfig,
		},
		{
			name: "a profile while the gate is off", source: profileRef("good"), providers: providers,
			reason:  kueue.ReasonMultiKueueClusterProfileFeatureDisabled,
			message: "load client config failed: MultiKueueClusterProfile feature gate is disabled",
		},
		{name: "a good profile", source: profileRef("good"), profiles: true, providers: providers},
		{
			name: "a profile without a provider", source: profileRef("good"), profiles: true, reason: kueue.ReasonBadClusterProfile,
			message: "load client config failed: no access provider configured",
		},
		{
			name: "no such profile", source: profileRef("none"), profiles: true, providers: providers, reason: kueue.ReasonBadClusterProfile,
			message: `load client config failed: clusterprofiles.multicluster.x-k8s.io "none" not found`,
		},
		{
			name: "a profile of other providers", source: profileRef("else"), profiles: true, providers: providers, reason: kueue.ReasonBadClusterProfile,
			message: `load client config failed: no matching cluster accessor found for cluster profile "else"`,
		},
		{
			name: "a profile of an insecure server", source: profileRef("http"), profiles: true, providers: providers, reason: kueue.ReasonBadRestConfig,
			message: "load client config failed: server URL must use https for cluster http",
		},
		{name: "no source at all", reason: kueue.ReasonBadKubeConfig},
	} {
		t.Run(tc.name, func(t *testing.T) {
			credentials := CredentialsLoader{Secrets: c, Namespace: "kueue-system", PathPrefix: t.TempDir()}
			if tc.profiles {
				credentials.Profiles, credentials.Providers = profiles, tc.providers
			}
			got, err := credentials.load(context.Background(), &kueue.MultiKueueCluster{Spec: kueue.MultiKueueClusterSpec{ClusterSource: tc.source}})
			var bad *credentialsError
			switch {
			case tc.reason == "":
				if err != nil || got.Config.Host != "https://w1.example.com" || got.Fingerprint == "" {
					t.Errorf("credentials %+v, error %v", got, err)
				}
			case !errors.As(err, &bad) || bad.reason != tc.reason || tc.message != "" && bad.Error() != tc.message:
				t.Errorf("error %v, want reason %s and message %q", err, tc.reason, tc.message)
			}
		})
	}
}

// fakeProfiles is a hub's ClusterProfiles, each with one provider.
type fakeProfiles map[string]inventory.AccessProvider

// Get implements Profiles.
func (b fakeProfiles) Get(_ context.Context, name string) (*inventory.ClusterProfile, error) {
	access, found := b[name]
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: inventory.Group, Resource: "clusterprofiles"}, name)
	}
	p := &inventory.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Status.AccessProviders = []inventory.AccessProvider{access}
	return p, nil
}

func TestTheConditionOfACluster(t *testing.T) {
	next := time.Date(2026, 11, 21, 12, 0, 5, 0, time.FixedZone("east", 3600))
	refused := errors.New("connection refused")
	for _, tc := range []struct {
		name    string
		state   fleet.State
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{name: "connected", state: fleet.State{Connected: true}, status: metav1.ConditionTrue, reason: "Active", message: "Connected"},
		{
			name: "connected, but it lacks a kind of job",
			state: fleet.State{Connected: true, Unserved: []fleet.Unserved{{
				GVK: kueue.GroupVersion.WithKind("Odd"), Err: errors.New("no match"),
			}}},
			status: metav1.ConditionTrue, reason: "Active", message: "Connected; kinds not served there: Odd.v1beta2.kueue.x-k8s.io",
		},
		{
			name: "connected, but it lacks a kind of job and does not let the hub see another",
			state: fleet.State{Connected: true, Unserved: []fleet.Unserved{
				{GVK: kueue.GroupVersion.WithKind("Even"), Err: fmt.Errorf("list: %w", apierrors.NewForbidden(schema.GroupResource{}, "", refused))},
				{GVK: kueue.GroupVersion.WithKind("Odd"), Err: errors.New("no match")},
			}},
			status: metav1.ConditionTrue, reason: "Active", message: "Connected; kinds not served there: Odd.v1beta2.kueue.x-k8s.io; kinds that the hub may not see " +
				"there, until its account is granted get, list, watch, create and delete: Even.v1beta2.kueue.x-k8s.io",
		},
		{
			name: "lost a moment ago", state: fleet.State{Err: refused},
			status: metav1.ConditionFalse, reason: "ClientConnectionFailed", message: "connection refused",
		},
		{
			name: "failed twice", state: fleet.State{Err: refused, Failures: 2, NextAttempt: next},
			status: metav1.ConditionFalse, reason: "ClientConnectionFailed",
			message: "connection refused; connection attempts: 2, next connection attempt: 2026-11-21T11:00:05Z",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := connectionCondition(tc.state)
			if got.Status != tc.status || got.Reason != tc.reason || got.Message != tc.message || got.Type != "Active" {
				t.Errorf("condition %+v", got)
			}
		})
	}
	if got := connectionCondition(fleet.State{}); got != nil {
		t.Errorf("nothing is known yet, but the condition is %+v", got)
	}
}

func TestAClusterIsReportedConnectedAndThenDisconnectedWhenItsSecretGoes(t *testing.T) {
	scheme := testScheme(t)
	worker := newBuilder(t, scheme).Build()
	hub := newBuilder(t, scheme).WithObjects(
		&kueue.MultiKueueCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "w1", Generation: 3},
			Spec:       kueue.MultiKueueClusterSpec{ClusterSource: kueue.ClusterSource{KubeConfig: &kueue.KubeConfig{Location: "w1"}}},
		},
		kubeconfigSecret("w1", "kubeconfig", sampleKubeconfig),
	).Build()
	f := fleet.New(fleet.Options{
		Origin: origin, Scheme: scheme, Kinds: workloadKinds(),
		Dial: func(*rest.Config) (client.WithWatch, error) { return worker, nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	r := &Reconciler{Client: hub, Fleet: f, Clock: clock.RealClock{}, Credentials: CredentialsLoader{Secrets: hub, Namespace: "kueue-system"}}

	condition := func() *metav1.Condition {
		t.Helper()
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}}); err != nil {
			t.Fatal(err)
		}
		cluster := &kueue.MultiKueueCluster{}
		if err := hub.Get(ctx, client.ObjectKey{Name: "w1"}, cluster); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(cluster.Status.Conditions, kueue.MultiKueueClusterActive)
	}
	waitUntil(t, "connected", func() bool { c := condition(); return c != nil && c.Status == metav1.ConditionTrue })
	if c := condition(); c.Reason != "Active" || c.Message != "Connected" || c.ObservedGeneration != 3 {
		t.Errorf("condition %+v", c)
	}
	if err := hub.Delete(ctx, kubeconfigSecret("w1", "kubeconfig", "")); err != nil {
		t.Fatal(err)
	}
	if c := condition(); c.Reason != "BadKubeConfig" || c.Message != `load client config failed: secrets "w1" not found` {
		t.Errorf("condition %+v", c)
	}
	waitUntil(t, "disconnected", func() bool { s, _ := f.State("w1"); return !s.Connected })
	if err := hub.Delete(ctx, &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "w1"}}); err != nil {
		t.Fatal(err)
	}
	if _, known := f.State("w1"); known {
		t.Error("a deleted cluster still has a supervisor")
	}
}
