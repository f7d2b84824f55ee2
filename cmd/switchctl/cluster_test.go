package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/worker/job/all"
)

// withWorker adds a worker that serves what a hub wants and allows everything.
func (x *terminal) withWorker(name string, objects ...client.Object) *kubeclient.Client {
	x.t.Helper()
	w := x.site(name, interceptor.Funcs{}, objects...)
	serve(w, "v1.36.3", "kueue.x-k8s.io/v1beta2 workloads localqueues clusterqueues", "switchyard.dev/v1alpha1 capacityreports",
		"batch/v1 jobs", "jobset.x-k8s.io/v1alpha2 jobsets")
	allow(w, true)
	x.workers[name] = w
	return w
}

// serve makes a worker serve group versions, each with its resources.
func serve(w *kubeclient.Client, kubernetes string, groupVersions ...string) {
	discovery, _ := w.Kube.Discovery().(*fakediscovery.FakeDiscovery)
	discovery.FakedServerVersion = &version.Info{GitVersion: kubernetes}
	discovery.Resources = nil
	for _, line := range groupVersions {
		words := strings.Fields(line)
		list := &metav1.APIResourceList{GroupVersion: words[0]}
		for _, name := range words[1:] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		discovery.Resources = append(discovery.Resources, list)
	}
}

// allow makes a worker allow everything, or everything but watching, logs, and renewing leases.
func allow(w *kubeclient.Client, all bool) {
	kube, _ := w.Kube.(*kubefake.Clientset)
	kube.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := action.(clienttesting.CreateAction)
		review, _ := create.GetObject().(*authorizationv1.SelfSubjectAccessReview)
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = all || a.Verb != "watch" && a.Subresource != "log" && (a.Resource != "leases" || a.Verb != "update")
		return true, review, nil
	})
}

// connecting makes the hub's program connect at once to whatever cluster is registered.
func connecting(x *terminal, objects ...client.Object) {
	x.hub = x.site("hub", interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			if cluster, ok := obj.(*kueue.MultiKueueCluster); ok {
				cluster.Status = workerCluster(cluster.Name, metav1.ConditionTrue, "Active", "Connected").Status
			}
			return c.Create(ctx, obj, options...)
		},
	}, objects...)
}

// mirrored are the kinds of job that a registration lets the hub dispatch without being asked.
func mirrored() []workeraccess.JobResource {
	var list []workeraccess.JobResource
	for _, kind := range all.Kinds() {
		if kind.Mirrorable() {
			plural, _ := meta.UnsafeGuessKindToResource(kind.GVK())
			list = append(list, plural.GroupResource())
		}
	}
	return list
}

// followed are the kinds whose jobs on workers follow the hub's.
var followed = []workeraccess.JobResource{
	{Group: "batch", Resource: "jobs"}, {Group: "ray.io", Resource: "rayclusters"}, {Group: "ray.io", Resource: "rayservices"},
}

func TestARegistrationGivesTheHubALeastPrivilegeAccountAndWaitsUntilItIsConnected(t *testing.T) {
	x := newTerminal(t)
	connecting(x)
	w1 := x.withWorker("w1")
	golden(t, "cluster-register.txt", x.ok("cluster register w1 --context w1 --config workers"))

	role := get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{})
	if diff := cmp.Diff(append(workeraccess.WorkerRules(mirrored()...), workeraccess.FollowRules(followed...)...), role.Rules); diff != "" {
		t.Error(diff)
	}
	secret := get(x, x.hub, "kueue-system", "w1-kubeconfig", &corev1.Secret{})
	config, err := kubeconfig.Parse(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://w1" || config.BearerToken != "fake-token" || string(config.CAData) != "authority of w1" {
		t.Errorf("host %q, token %q, authority %q", config.Host, config.BearerToken, config.CAData)
	}
	cluster := get(x, x.hub, "", "w1", &kueue.MultiKueueCluster{})
	if kubeclient.KubeconfigSecretName(cluster) != "w1-kubeconfig" {
		t.Error(cluster.Spec)
	}
	if got := get(x, x.hub, "", "workers", &kueue.MultiKueueConfig{}).Spec.Clusters; !cmp.Equal(got, []string{"w1"}) {
		t.Error(got)
	}
}

func TestARegistrationCanBeRunAgainAndRepairsRights(t *testing.T) {
	x := newTerminal(t)
	connecting(x)
	w1 := x.withWorker("w1")
	x.ok("cluster register w1 --context w1")
	role := get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{})
	role.Rules = role.Rules[:1]
	if err := w1.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	out := x.ok("cluster register w1 --context w1 --address https://w1.example.com")
	for _, want := range []string{"ServiceAccount switchyard-hub unchanged", "ClusterRole kueue-system-switchyard-hub configured", "Secret w1-kubeconfig configured"} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
	role = get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{})
	if want := append(workeraccess.WorkerRules(mirrored()...), workeraccess.FollowRules(followed...)...); !cmp.Equal(want, role.Rules) {
		t.Error(cmp.Diff(want, role.Rules))
	}
}

func TestADryRunOfARegistrationPrintsManifestsAndChangesNothing(t *testing.T) {
	x := newTerminal(t)
	w1 := x.withWorker("w1")
	golden(t, "cluster-register-dry-run.txt", x.ok("cluster register w1 --context w1 --dry-run=client"))
	if !absent(x, w1, "kueue-system", "switchyard-hub", &corev1.ServiceAccount{}) || !absent(x, x.hub, "", "w1", &kueue.MultiKueueCluster{}) {
		t.Error("something was created")
	}
}

func TestARegistrationSaysWhatIsMissing(t *testing.T) {
	x := newTerminal(t)
	w1 := x.withWorker("w1")
	x.workers["hub"] = x.hub
	x.fails("cluster register w1", exit.Usage, "which cluster is the worker?")
	x.fails("cluster register w1 --context hub", exit.Usage, "one and the same cluster")
	x.fails("cluster register W_1 --context w1", exit.Usage, "cannot be a cluster's name")
	x.fails("cluster register w1 --context w1 --origin East_1", exit.Usage, "choose one with --account")
	x.fails("cluster register w1 --context w1 --address http://w1", exit.Usage, "must use https")
	x.fails("cluster register w1 --context w1 --dry-run=bogus", exit.Usage, "must be one of")
	x.fails("cluster register w1 --context w1 --timeout 10ms", exit.NotReady, "the hub has not said anything about the cluster")
	serve(w1, "v1.36.3", "batch/v1 jobs")
	x.fails("cluster register w1 --context w1", exit.Failed, "install Switchyard there as a worker")
	serve(w1, "v1.29.0", "kueue.x-k8s.io/v1beta2 workloads localqueues clusterqueues")
	x.fails("cluster register w1 --context w1", exit.Failed, "upgrade it to 1.31.0")
}

func aQueue(name, check string) *kueue.ClusterQueue {
	q := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if check != "" {
		q.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{
			AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: kueue.AdmissionCheckReference(check)}},
		}
	}
	return q
}

func aLocalQueue(namespace, name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

func aCheck(name string) *kueue.AdmissionCheck {
	return &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}}
}

func kubeconfigFor(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: name + "-kubeconfig"},
		Data: map[string][]byte{"kubeconfig": []byte(`{apiVersion: v1, kind: Config, current-context: worker,
clusters: [{name: worker, cluster: {server: "https://` + name + `"}}], users: [{name: hub, user: {token: old}}],
contexts: [{name: worker, context: {cluster: worker, user: hub}}]}`)},
	}
}

func TestACheckOfAClusterSaysWhatKeepsJobsFromRunningThere(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"),
		aCheck("workers"), aQueue("gpus", "workers"), aQueue("local", ""), aLocalQueue("team", "train", "gpus"), aLocalQueue("team", "here", "local"))
	w1 := x.withWorker("w1")
	serve(w1, "v1.36.3", "kueue.x-k8s.io/v1beta2 workloads localqueues clusterqueues", "batch/v1 jobs")
	allow(w1, false)
	code, out, errs := x.run("cluster check w1")
	if code != exit.NotReady || !strings.Contains(errs, "2 of ") {
		t.Errorf("code %d: %s", code, errs)
	}
	golden(t, "cluster-check.txt", out)
	if _, out, _ := x.run("cluster check w1 --origin east"); !strings.Contains(out, "may not update leases switchyard-hub-east") {
		t.Error(out)
	}
	x.fails("cluster check w9", exit.NotFound, "w9")
}

func TestAClusterOfWhichNothingIsMissingPassesItsCheck(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"), fleetConfig("workers", "w1"),
		aCheck("workers"), aQueue("gpus", "workers"), aLocalQueue("team", "train", "gpus"))
	x.withWorker("w1", aLocalQueue("team", "train", "elsewhere"))
	golden(t, "cluster-check-passed.txt", x.ok("cluster check w1"))
	if out := x.ok("cluster check w1 -o yaml"); !strings.Contains(out, "- check: connection\n  found: Connected\n  result: ok\n") {
		t.Error(out)
	}
	var findings []map[string]string
	if err := json.Unmarshal([]byte(x.ok("cluster check w1 -o json")), &findings); err != nil || len(findings) != 13 {
		t.Errorf("%v %v", findings, err)
	}
	x.fails("cluster check w1 -o wide", exit.Usage, "want json or yaml")
}

func TestARotationReplacesTheTokenKeepsTheAddressAndRevokesOlderTokens(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"))
	older := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "older", Labels: map[string]string{"switchyard.dev/tokens-of": "switchyard-hub"}}}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "foreign"}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "switchyard-hub"}}
	w1 := x.withWorker("somewhere-else", older, foreign, account)
	x.ok("cluster rotate w1 --context somewhere-else --revoke-after 0s")
	config, err := clientcmd.Load(get(x, x.hub, "kueue-system", "w1-kubeconfig", &corev1.Secret{}).Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	if token, server := config.AuthInfos["hub"].Token, config.Clusters["worker"].Server; token != "fake-token" || server != "https://w1" {
		t.Errorf("token %q, server %q", token, server)
	}
	if !absent(x, w1, "kueue-system", "older", &corev1.Secret{}) || absent(x, w1, "kueue-system", "foreign", &corev1.Secret{}) {
		t.Error("the wrong tokens were revoked")
	}
	get(x, w1, "kueue-system", "switchyard-hub-20261121-120000", &corev1.Secret{})
}

func TestARotationThatTheHubDoesNotFollowRevokesNothing(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionFalse, "ClientConnectionFailed", "refused"), kubeconfigFor("w1"))
	older := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "older", Labels: map[string]string{"switchyard.dev/tokens-of": "switchyard-hub"}}}
	w1 := x.withWorker("w1", older, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "switchyard-hub"}})
	x.fails("cluster rotate w1 --context w1 --revoke-after 0s --timeout 10ms", exit.NotReady, "older tokens were not revoked")
	if absent(x, w1, "kueue-system", "older", &corev1.Secret{}) {
		t.Error("the older token was revoked")
	}
}

func TestMarksOnClustersAreSetAndTakenBack(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"))
	marks := func() map[string]string { return get(x, x.hub, "", "w1", &kueue.MultiKueueCluster{}).Annotations }
	if out := x.ok("cluster cordon w1"); out != "multikueuecluster.kueue.x-k8s.io/w1 cordoned\n" {
		t.Errorf("%q", out)
	}
	x.ok("cluster drain w1 --wait")
	if diff := cmp.Diff(map[string]string{switchyard.CordonedAnnotation: "true", switchyard.DrainAnnotation: "true"}, marks()); diff != "" {
		t.Error(diff)
	}
	x.fails("cluster gone w1", exit.Usage, "nothing was changed")
	x.stdin = "y\n"
	x.ok("cluster gone w1")
	if marks()[switchyard.GoneAnnotation] != "true" {
		t.Error(marks())
	}
	if out := x.ok("cluster uncordon w1 --dry-run=client"); !strings.Contains(out, "(client dry run)") || len(marks()) != 3 {
		t.Errorf("%q, %v", out, marks())
	}
	x.ok("cluster uncordon w1")
	if len(marks()) != 0 {
		t.Error(marks())
	}
	x.fails("cluster cordon w9", exit.NotFound, "w9")
}

func TestADrainThatDoesNotEndNamesAJobThatIsLeft(t *testing.T) {
	x := aFleet(t)
	x.fails("cluster drain w1 --wait --timeout 10ms", exit.NotReady, "team/running")
	x.ok("cluster drain w1 --wait --timeout 10ms --dry-run=client")
}

func TestUnregisteringRefusesWhileJobsAreThereAndThenLeavesNothing(t *testing.T) {
	x := aFleet(t)
	x.fails("cluster unregister w1", exit.Failed, "drain it first")
	wl := get(x, x.hub, "team", "running", &kueue.Workload{})
	wl.Status.ClusterName = ptr.To("w2")
	if err := x.hub.Status().Update(t.Context(), wl); err != nil {
		t.Fatal(err)
	}
	w1 := x.withWorker("w1")
	for _, obj := range (workeraccess.Access{Namespace: "kueue-system", ServiceAccount: "switchyard-hub", Origin: "multikueue"}).Objects() {
		if err := w1.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	x.ok("cluster unregister w1 --context w1")
	if got := get(x, x.hub, "", "workers", &kueue.MultiKueueConfig{}).Spec.Clusters; !cmp.Equal(got, []string{"w2"}) {
		t.Error(got)
	}
	if !absent(x, x.hub, "", "w1", &kueue.MultiKueueCluster{}) || !absent(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{}) ||
		!absent(x, w1, "kueue-system", "switchyard-hub", &corev1.ServiceAccount{}) {
		t.Error("something is left")
	}
	if absent(x, w1, "", "kueue-system", &corev1.Namespace{}) {
		t.Error("the worker's namespace is gone")
	}
	x.fails("cluster unregister w2 --force", exit.Failed, "lists no other cluster")
}
