package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/kubeconfig"
	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// rightsOf are the roles and bindings of the viewer on a worker, as kind and name.
func rightsOf(x *terminal, w *kubeclient.Client) []string {
	x.t.Helper()
	var found []string
	for kind, list := range map[string]client.ObjectList{
		"ClusterRole": &rbacv1.ClusterRoleList{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBindingList{},
		"Role": &rbacv1.RoleList{}, "RoleBinding": &rbacv1.RoleBindingList{},
	} {
		if err := w.List(x.t.Context(), list, client.MatchingLabels{workeraccess.RightsLabel: "switchyard-access"}); err != nil {
			x.t.Fatal(err)
		}
		for _, obj := range kubeclient.ListItems(list) {
			found = append(found, kind+" "+kubeclient.ObjectKey(obj))
		}
	}
	return found
}

func TestAnAccountForUsersIsGrantedChangedAndTakenAway(t *testing.T) {
	x := newTerminal(t)
	connecting(x)
	w1 := x.withWorker("w1")
	golden(t, "cluster-register-access.txt", x.ok("cluster register w1 --context w1 --config workers --access logs --address https://w1.example.com"))
	secret := get(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{})
	if secret.Labels["switchyard.dev/access"] != "logs" || len(secret.Annotations) > 0 {
		t.Errorf("%v %v", secret.Labels, secret.Annotations)
	}
	config, err := kubeconfig.Parse(secret.Data["kubeconfig"])
	if err != nil || config.Host != "https://w1.example.com" || config.BearerToken != "fake-token" {
		t.Errorf("%+v, %v", config, err)
	}
	role := get(x, w1, "", "kueue-system-switchyard-access", &rbacv1.ClusterRole{})
	for _, rule := range role.Rules {
		if strings.Contains(strings.Join(rule.Resources, " "), "secrets") || !cmp.Equal(rule.Verbs, []string{"get", "list", "watch"}) && !cmp.Equal(rule.Verbs, []string{"get"}) {
			t.Errorf("may %v", rule)
		}
	}
	before := role.Rules
	if role = get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{}); len(role.Rules) != len(append(workeraccess.WorkerRules(mirrored()...), workeraccess.FollowRules(followed...)...)) {
		t.Error("the account that dispatches has other rights")
	}

	x.ok("cluster register w1 --context w1")
	if diff := cmp.Diff(before, get(x, w1, "", "kueue-system-switchyard-access", &rbacv1.ClusterRole{}).Rules); diff != "" {
		t.Error("without --access the rights change:", diff)
	}

	x.ok("cluster register w1 --context w1 --access exec --access-namespaces b,a")
	want := []string{
		"Role a/kueue-system-switchyard-access", "Role b/kueue-system-switchyard-access",
		"RoleBinding a/kueue-system-switchyard-access", "RoleBinding b/kueue-system-switchyard-access",
	}
	if diff := cmp.Diff(want, rightsOf(x, w1), sortStrings); diff != "" {
		t.Error(diff)
	}
	secret = get(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{})
	if secret.Labels["switchyard.dev/access"] != "exec" || secret.Annotations["switchyard.dev/access-namespaces"] != "a,b" {
		t.Errorf("%v %v", secret.Labels, secret.Annotations)
	}

	x.ok("cluster register w1 --context w1 --access logs")
	if secret = get(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{}); secret.Labels["switchyard.dev/access"] != "logs" || len(secret.Annotations) > 0 {
		t.Errorf("%v %v", secret.Labels, secret.Annotations)
	}
	if got := rightsOf(x, w1); len(got) != 2 {
		t.Error(got)
	}

	golden(t, "cluster-register-no-access.txt", x.ok("cluster register w1 --context w1 --access none"))
	if got := rightsOf(x, w1); len(got) > 0 || !absent(x, w1, "kueue-system", "switchyard-access", &corev1.ServiceAccount{}) ||
		!absent(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{}) {
		t.Error("something is left:", got)
	}
	get(x, w1, "kueue-system", "switchyard-hub", &corev1.ServiceAccount{})
}

var sortStrings = cmp.Transformer("sorted", func(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
})

func TestADryRunShowsTheAccountForUsers(t *testing.T) {
	x := newTerminal(t)
	w1 := x.withWorker("w1")
	out := x.ok("cluster register w1 --context w1 --origin east --access exec --access-namespaces vision --dry-run=client")
	for _, want := range []string{
		"name: switchyard-access-east", "name: w1-access", "switchyard.dev/access: exec", "switchyard.dev/access-namespaces: vision", "- pods/portforward", "token: TOKEN",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("does not show %q:\n%s", want, out)
		}
	}
	if !absent(x, w1, "kueue-system", "switchyard-access-east", &corev1.ServiceAccount{}) || !absent(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{}) {
		t.Error("something was created")
	}
}

func TestAccessThatCannotBeGrantedIsRefused(t *testing.T) {
	x := newTerminal(t)
	x.withWorker("w1")
	for flags, says := range map[string]string{
		"--access all":                                "want one of none, logs, exec",
		"--access-namespaces team":                    "pass one of them",
		"--access none --access-namespaces team":      "pass one of them",
		"--access logs --access-namespaces Team":      "cannot be a namespace",
		"--access logs --access-account Switch/Yard":  "cannot be a ServiceAccount's name",
		"--allow-logs":                                "unknown flag",
		"--access logs --address http://w1 --timeout": "flag needs an argument",
	} {
		x.fails("cluster register w1 --context w1 "+flags, exit.Usage, says)
	}
}

// accessFor is what the hub keeps of a viewer.
func accessFor(name, level string) *corev1.Secret {
	secret := kubeconfigFor(name)
	secret.Name, secret.Labels = name+"-access", map[string]string{"switchyard.dev/access": level}
	secret.Data["kubeconfig"] = []byte(strings.ReplaceAll(string(secret.Data["kubeconfig"]), "hub", "switchyard-access"))
	return secret
}

func TestACheckSaysWhatUsersMaySeeOfACluster(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"), fleetConfig("workers", "w1"))
	x.withWorker("w1")
	says := func(want string) {
		t.Helper()
		if _, out, errs := x.run("cluster check w1"); !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s%s", want, out, errs)
		}
	}
	says("ok       none: users of the hub see no pods and logs there (cluster register w1 --access logs)")
	secret := accessFor("w1", "exec")
	if err := x.hub.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	says("ok       exec, in every namespace; token does not say when it ends")
	secret.Annotations = map[string]string{"switchyard.dev/access-namespaces": "a,b"}
	if err := x.hub.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	says("ok       exec, in a, b; token")
	allow(x.workers["w1"], false)
	says("warning   exec, in a, b, but the hub's second account may not watch pods, get pods/log, watch events")
	says("cluster register w1 --context CONTEXT --access exec --access-namespaces a,b")
	secret.Labels = nil
	if err := x.hub.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	says("warning   Secret w1-access does not say by the label switchyard.dev/access what it is for")
}

func TestARotationRenewsTheTokenForUsersToo(t *testing.T) {
	x := newTerminal(t, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"), accessFor("w1", "logs"))
	tokenOf := func(account string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: account + "-older", Labels: map[string]string{"switchyard.dev/tokens-of": account}}}
	}
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: name}}
	}
	w1 := x.withWorker("w1", tokenOf("switchyard-hub"), tokenOf("switchyard-access"), account("switchyard-hub"), account("switchyard-access"))
	golden(t, "cluster-rotate.txt", x.ok("cluster rotate w1 --context w1 --revoke-after 0s"))
	secret := get(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{})
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil || config.AuthInfos["switchyard-access"].Token != "fake-token" || config.Clusters["worker"].Server != "https://w1" || secret.Labels["switchyard.dev/access"] != "logs" {
		t.Errorf("%+v, %v", config, err)
	}
	if !absent(x, w1, "kueue-system", "switchyard-access-older", &corev1.Secret{}) || !absent(x, w1, "kueue-system", "switchyard-hub-older", &corev1.Secret{}) {
		t.Error("an older token is good")
	}
}

func TestUnregisteringTakesTheAccountForUsersAway(t *testing.T) {
	x := newTerminal(t)
	connecting(x)
	w1 := x.withWorker("w1")
	x.ok("cluster register w1 --context w1 --access exec")
	x.ok("cluster unregister w1 --context w1")
	if got := rightsOf(x, w1); len(got) > 0 || !absent(x, w1, "kueue-system", "switchyard-access", &corev1.ServiceAccount{}) ||
		!absent(x, x.hub, "kueue-system", "w1-access", &corev1.Secret{}) {
		t.Error("something is left:", got)
	}
}
