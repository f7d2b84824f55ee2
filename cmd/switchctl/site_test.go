package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// pages answers lists page by page, one flavor each.
func pages(limits *[]int64, names ...string) interceptor.Funcs {
	return interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		o := (&client.ListOptions{}).ApplyOptions(options)
		*limits = append(*limits, o.Limit)
		at := 0
		for i, name := range names {
			if o.Continue == name {
				at = i
			}
		}
		flavors, ok := list.(*kueue.ResourceFlavorList)
		if !ok {
			return errors.New("another kind")
		}
		flavors.Items = []kueue.ResourceFlavor{{ObjectMeta: metav1.ObjectMeta{Name: names[at]}}}
		if at+1 < len(names) {
			flavors.Continue = names[at+1]
		}
		return nil
	}}
}

func TestListsAreReadToTheLastPage(t *testing.T) {
	for env, want := range map[string]int64{"": 100, "7": 7, "bogus": 100, "0": 100} {
		t.Setenv("KUEUECTL_LIST_REQUEST_LIMIT", env)
		x := newTerminal(t)
		var limits []int64
		x.hub = x.site("hub", pages(&limits, "a", "b", "c"))
		if diff := cmp.Diff([]string{"a", "b", "c"}, strings.Fields(strings.ReplaceAll(x.ok("list rf -o name"), "resourceflavor.kueue.x-k8s.io/", ""))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{want, want, want}, limits); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAWorkerThatDoesNotAnswerFromHereIsNoFailure(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"), fleetConfig("workers", "w1"))
	w1 := x.withWorker("w1")
	kube, _ := w1.Kube.(*kubefake.Clientset)
	kube.PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("timeout") })
	if out := x.ok("cluster check w1"); !strings.Contains(out, "that is fine if only the hub's pods reach it") || strings.Contains(out, "rights") {
		t.Error(out)
	}
}

func TestAClusterWhoseSecretMayNotBeReadIsCheckedAsFarAsPossible(t *testing.T) {
	x := newTerminal(t)
	x.hub = x.site("hub", interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
		if _, ok := obj.(*corev1.Secret); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, nil)
		}
		return c.Get(ctx, key, obj, options...)
	}}, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), fleetConfig("workers", "w1"))
	if out := x.ok("cluster check w1"); !strings.Contains(out, "without it the cluster itself cannot be checked from here") {
		t.Error(out)
	}
	if out := x.ok("cluster list -o wide"); !strings.Contains(out, "<unknown>") {
		t.Error(out)
	}
	if out := x.ok("top --once"); !strings.Contains(out, "unknown: read the kubeconfig of cluster") {
		t.Error(out)
	}
}

const threeClusters = `{apiVersion: v1, kind: Config, current-context: hub,
clusters: [{name: hub, cluster: {server: "https://hub"}}, {name: w1, cluster: {server: "https://w1"}}],
users: [{name: me, user: {token: t}}],
contexts: [{name: hub, context: {cluster: hub, user: me, namespace: vision}}, {name: w1, context: {cluster: w1, user: me}}]}`

func TestContextsAndKubeconfigsLeadToTheirClusters(t *testing.T) {
	name := file(t, threeClusters)
	t.Setenv("KUBECONFIG", name)
	reached := kubeclient.NewGetter(genericclioptions.NewConfigFlags(true))
	for context, want := range map[string]string{"": "https://hub", "w1": "https://w1"} {
		found, err := reached.Context(name, context)
		if err != nil || found.Config.Host != want {
			t.Errorf("context %q: %v, %v", context, found, err)
		}
	}
	if _, err := reached.Context(name, "bogus"); err == nil || !strings.Contains(err.Error(), `no context "bogus"`) {
		t.Error(err)
	}
	if _, err := reached.Credentials([]byte(strings.ReplaceAll(threeClusters, "https://hub", "http://hub"))); err == nil {
		t.Error("an insecure kubeconfig is used")
	}
	if found, err := reached.Credentials([]byte(threeClusters)); err != nil || found.Config.Host != "https://hub" {
		t.Errorf("%v, %v", found, err)
	}
}
