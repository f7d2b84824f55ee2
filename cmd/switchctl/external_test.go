package main

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/openapi/openapitest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
)

// program is the hub's program as the chart installs it, with that stanza in its configuration.
func program(stanza string) []client.Object {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "switchyard"}}
	deployment.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: "switchyard", Volumes: []corev1.Volume{{
		Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "switchyard-hub-9f8e"},
		}},
	}}}
	return []client.Object{deployment, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "switchyard-hub-9f8e"},
		Data:       map[string]string{"config.yaml": `{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, ` + stanza + `}`},
	}}
}

const oneExternal = `multiKueue: {externalFrameworks: [{name: Simulation.v1.example.com}]}`

// serveSimulations makes a cluster serve the kind, with a schema of its spec, and with an endpoint of its status if subresource is set.
func serveSimulations(s *kubeclient.Client, spec string, subresource bool) {
	discovery, _ := s.Kube.Discovery().(*fakediscovery.FakeDiscovery)
	list := &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		{Name: "others", Kind: "Other"}, {Name: "simulations", Kind: "Simulation"},
	}}
	if subresource {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: "simulations/status", Kind: "Simulation"})
	}
	discovery.Resources = slices.DeleteFunc(discovery.Resources, func(l *metav1.APIResourceList) bool { return l.GroupVersion == list.GroupVersion })
	discovery.Resources = append(discovery.Resources, list)
	schemas := openapitest.NewFakeClient()
	schemas.PathsMap["apis/example.com/v1"] = openapitest.FakeGroupVersion{GVSpec: []byte(`{"components": {"schemas": {
		"other": {"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Other"}]},
		"com.example.v1.Simulation": {"properties": {"spec": ` + spec + `},
			"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Simulation"}]},
		"shared": {"properties": {"suspend": {"type": "boolean"}, "managedBy": {"type": "string"}}}}}}`)}
	s.Schemas = schemas
}

const whole = `{"properties": {"suspend": {"type": "boolean"}, "managedBy": {"type": "string"}}}`

// letHub answers for the hub's account: denied are its rights that are not there, such as "watch simulations".
func letHub(x *terminal, denied ...string) (asked *[]string) {
	asked = &[]string{}
	kube, _ := x.hub.Kube.(*kubefake.Clientset)
	kube.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := action.(clienttesting.CreateAction)
		review, _ := create.GetObject().(*authorizationv1.SubjectAccessReview)
		what := permission(*review.Spec.ResourceAttributes)
		*asked = append(*asked, review.Spec.User+" "+what)
		review.Status.Allowed = !slices.Contains(denied, what)
		return true, review, nil
	})
	return asked
}

// permission is a permission as findings name it: verb, resource/subresource, name.
func permission(of authorizationv1.ResourceAttributes) string {
	text := of.Verb + " " + of.Resource
	if of.Subresource != "" {
		text += "/" + of.Subresource
	}
	return strings.TrimSpace(text + " " + of.Name)
}

// connectedHub is one that is connected to a worker from which nothing is missing.
func connectedHub(t *testing.T, objects ...client.Object) (x *terminal, w1 *kubeclient.Client) {
	t.Helper()
	x = newTerminal(t, append(objects, workerCluster("w1", metav1.ConditionTrue, "Active", "Connected"), kubeconfigFor("w1"), fleetConfig("workers", "w1"))...)
	return x, x.withWorker("w1")
}

// lines are those of a table about example.com, with single blanks.
func lines(table string) []string {
	var found []string
	for line := range strings.Lines(table) {
		if strings.Contains(line, "example.com/v1") {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
	}
	return found
}

func TestARegistrationLetsTheHubRunJobsOfExternalKindsToo(t *testing.T) {
	for name, c := range map[string]struct {
		program []client.Object
		line    string
		want    []workeraccess.JobResource
		// follows tells that the last of them follows changes of the hub's.
		follows bool
	}{
		"of the command line": {
			line: "--external-framework Simulation.v1.example.com --external-framework Study.v2.example.com",
			want: []workeraccess.JobResource{{Group: "example.com", Resource: "simulations"}, {Group: "example.com", Resource: "studies"}},
		},
		"of the hub's configuration": {
			program: program(oneExternal), want: []workeraccess.JobResource{{Group: "example.com", Resource: "simulations"}},
		},
		"of both": {
			program: program(oneExternal), line: "--external-framework Study.v2.example.com,Simulation.v1.example.com",
			want: []workeraccess.JobResource{{Group: "example.com", Resource: "simulations"}, {Group: "example.com", Resource: "studies"}},
		},
		"pods of the hub's configuration": {
			program: program("integrations: {frameworks: [batch/job, pod]}"), want: []workeraccess.JobResource{{Resource: "pods"}},
		},
		"sets of the hub's configuration": {
			program: program("integrations: {frameworks: [statefulset, batch/job]}"),
			want:    []workeraccess.JobResource{{Group: "apps", Resource: "statefulsets"}},
		},
		"sets that follow the hub's": {
			program: program("integrations: {frameworks: [leaderworkerset.x-k8s.io/leaderworkerset]}"),
			want:    []workeraccess.JobResource{{Group: "leaderworkerset.x-k8s.io", Resource: "leaderworkersets"}}, follows: true,
		},
		"pods and sets of the command line": {
			line: "--pods", want: []workeraccess.JobResource{
				{Resource: "pods"}, {Group: "apps", Resource: "statefulsets"}, {Group: "leaderworkerset.x-k8s.io", Resource: "leaderworkersets"},
			}, follows: true,
		},
		"no pods if they are only implied":                 {program: program("integrations: {frameworks: [deployment]}")},
		"none if the gate is off":                          {program: program(oneExternal + `, featureGates: {MultiKueueAdaptersForCustomJobs: false}`)},
		"none of a configuration that the program refuses": {program: program(`multiKueue: {externalFrameworks: [{name: Simulation}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTerminal(t)
			connecting(x, c.program...)
			w1 := x.withWorker("w1")
			x.ok("cluster register w1 --context w1 " + c.line)
			role := get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{})
			follow := slices.Clone(followed)
			if c.follows {
				follow = append(follow, c.want[len(c.want)-1])
			}
			if diff := cmp.Diff(append(workeraccess.WorkerRules(append(mirrored(), c.want...)...), workeraccess.FollowRules(follow...)...), role.Rules); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// declaresSimulations is a JobKind of the kind.
func declaresSimulations(dispatch *switchyard.JobKindDispatch) *switchyard.JobKind {
	return &switchyard.JobKind{
		ObjectMeta: metav1.ObjectMeta{Name: "simulations.example.com"},
		Spec:       switchyard.JobKindSpec{Group: "example.com", Version: "v1", Kind: "Simulation", Dispatch: dispatch},
	}
}

func TestARegistrationLetsTheHubRunJobsOfKindsThatJobKindsDeclare(t *testing.T) {
	for name, c := range map[string]struct {
		declared *switchyard.JobKind
		want     []workeraccess.JobResource
	}{
		"that run elsewhere":                     {declaresSimulations(&switchyard.JobKindDispatch{}), []workeraccess.JobResource{{Group: "example.com", Resource: "simulations"}}},
		"and none of those that are queued only": {declaresSimulations(nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTerminal(t)
			connecting(x, c.declared)
			w1 := x.withWorker("w1")
			x.ok("cluster register w1 --context w1")
			role := get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{})
			if diff := cmp.Diff(append(workeraccess.WorkerRules(append(mirrored(), c.want...)...), workeraccess.FollowRules(followed...)...), role.Rules); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACheckLooksForTheKindsThatJobKindsDeclareOnTheWorkerAndNotOnTheHub(t *testing.T) {
	x, w1 := connectedHub(t, declaresSimulations(&switchyard.JobKindDispatch{}))
	serveSimulations(w1, whole, true)
	if diff := cmp.Diff([]string{"example.com/v1 ok serves simulations"}, lines(x.ok("cluster check w1"))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoKindIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	x := newTerminal(t)
	x.fails("cluster register w1 --context nowhere --external-framework Simulation", exit.Usage, "want Kind.version.group")
	x.fails("cluster check w1 --external-framework Simulation.v1", exit.Usage, "want Kind.version.group")
}

func TestACheckLooksAtTheExternalKindsOfTheHubsConfiguration(t *testing.T) {
	x, w1 := connectedHub(t, program(oneExternal)...)
	asked := letHub(x)
	serveSimulations(x.hub, whole, true)
	serveSimulations(w1, whole, true)
	out := x.ok("cluster check w1")
	want := []string{
		"hub: example.com/v1 ok serves simulations, which the hub may see and report on",
		"example.com/v1 ok serves simulations",
	}
	if diff := cmp.Diff(want, lines(out)); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, out)
	}
	account := "system:serviceaccount:kueue-system:switchyard "
	if diff := cmp.Diff([]string{
		account + "get simulations", account + "list simulations", account + "watch simulations", account + "patch simulations/status",
	}, *asked); diff != "" {
		t.Error(diff)
	}
	if out := x.ok("cluster check w1 --external-framework Simulation.v1.example.com"); len(lines(out)) != 2 {
		t.Errorf("checked twice:\n%s", out)
	}
}

func TestACheckSaysWhatKeepsJobsOfExternalKindsFromRunning(t *testing.T) {
	served := func(spec string, status bool) func(*kubeclient.Client) {
		return func(s *kubeclient.Client) { serveSimulations(s, spec, status) }
	}
	for name, c := range map[string]struct {
		hub, worker func(*kubeclient.Client)
		denied      []string
		want        []string
	}{
		"served nowhere": {want: []string{
			"hub: example.com/v1 warning does not serve Simulation: there can be no jobs of that kind install its CRD and its controllers on the hub",
			"example.com/v1 warning does not serve Simulation install its CRD and its controllers there if jobs of that kind are to run on it",
		}},
		"not to be handed over": {hub: served(`{"properties": {"suspend": {"type": "boolean"}}}`, true), worker: served(whole, true), want: []string{
			"hub: example.com/v1 warning simulations have no spec.managedBy, so that none can be handed to the dispatcher install a version of the CRD that has it",
			"example.com/v1 ok serves simulations",
		}},
		"without a status of its own": {hub: served(whole, false), worker: served(whole, false), want: []string{
			"hub: example.com/v1 warning simulations have no status subresource, so that nobody sees on the hub what became of one " +
				"give the CRD subresources: {status: {}}",
			"example.com/v1 ok serves simulations",
		}},
		"not seen by the hub": {
			hub: served(whole, true), worker: served(whole, true), denied: []string{"watch simulations", "patch simulations/status"}, want: []string{
				"hub: example.com/v1 warning the hub may not watch simulations, patch simulations/status " +
					"grant that to ServiceAccount switchyard in namespace kueue-system of the hub",
				"example.com/v1 ok serves simulations",
			},
		},
		"not to be stopped": {hub: served(whole, true), worker: served(`{"properties": {}}`, true), want: []string{
			"hub: example.com/v1 ok serves simulations, which the hub may see and report on",
			"example.com/v1 ok serves simulations, which have no spec.suspend: only their own controllers can stop one",
		}},
		"with fields of which the schema says nothing": {
			hub:    served(`{"x-kubernetes-preserve-unknown-fields": true}`, true),
			worker: served(`{"allOf": [{"$ref": "#/components/schemas/shared"}]}`, true), want: []string{
				"hub: example.com/v1 ok serves simulations, which the hub may see and report on", "example.com/v1 ok serves simulations",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, w1 := connectedHub(t, program(oneExternal)...)
			letHub(x, c.denied...)
			if c.hub != nil {
				c.hub(x.hub)
			}
			if c.worker != nil {
				c.worker(w1)
			}
			if out := x.ok("cluster check w1"); !cmp.Equal(c.want, lines(out)) {
				t.Errorf("-want +got\n%s\n%s", cmp.Diff(c.want, lines(out)), out)
			}
		})
	}
}

func TestACheckNamesTheRightsThatJobsOfAnExternalKindNeedOnTheWorker(t *testing.T) {
	x, w1 := connectedHub(t)
	serveSimulations(w1, whole, true)
	kube, _ := w1.Kube.(*kubefake.Clientset)
	kube.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := action.(clienttesting.CreateAction)
		review, _ := create.GetObject().(*authorizationv1.SelfSubjectAccessReview)
		review.Status.Allowed = review.Spec.ResourceAttributes.Group != "example.com" || review.Spec.ResourceAttributes.Verb == "list"
		return true, review, nil
	})
	x.ok("cluster check w1")
	const line = "cluster check w1 --external-framework Simulation.v1.example.com"
	x.fails(line, exit.NotReady, "the hub may not create simulations, delete simulations, get simulations, watch simulations")
	x.fails(line, exit.NotReady, "cluster register w1 --context CONTEXT --external-framework Simulation.v1.example.com")
	x.fails(line, exit.NotReady, "1 of ")
}

func TestWhereTheHubsProgramIsNotSeenItsAccountIsNotAskedAbout(t *testing.T) {
	x, w1 := connectedHub(t)
	asked := letHub(x)
	serveSimulations(x.hub, whole, true)
	serveSimulations(w1, whole, true)
	want := []string{"hub: example.com/v1 ok serves simulations", "example.com/v1 ok serves simulations"}
	if diff := cmp.Diff(want, lines(x.ok("cluster check w1 --external-framework Simulation.v1.example.com"))); diff != "" || len(*asked) > 0 {
		t.Errorf("asked %v\n%s", *asked, diff)
	}
}

func TestRightsAreNotTakenBackOnlyBecauseTheHubDoesNotSayWhichKindsItDispatches(t *testing.T) {
	x := newTerminal(t)
	connecting(x, program(oneExternal)...)
	w1 := x.withWorker("w1")
	x.ok("cluster register w1 --context w1")
	before := get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{}).Rules
	for _, away := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}} {
		x.hub = x.site("hub", interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
				if reflect.TypeOf(obj) == reflect.TypeOf(away) {
					return apierrors.NewServiceUnavailable("starting")
				}
				return c.Get(ctx, key, obj, options...)
			},
		}, program(oneExternal)...)
		x.fails("cluster register w1 --context w1", exit.Failed, "starting")
		x.fails("cluster check w1", exit.Failed, "starting")
	}
	if diff := cmp.Diff(before, get(x, w1, "", "kueue-system-switchyard-hub", &rbacv1.ClusterRole{}).Rules); diff != "" {
		t.Error(diff)
	}
}
