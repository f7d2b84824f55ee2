package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job"
)

// oldestLocalQueue is the oldest Kubernetes that a worker may have, as the chart says.
const oldestLocalQueue = "1.31.0"

// expiresSoon is when a token's end becomes a warning.
const expiresSoon = 14 * 24 * time.Hour

// hubFacts are what a check has to know of the hub and cannot ask its API.
type hubFacts struct {
	origin string
	externalOptions
}

// checkCluster checks everything about a registered cluster of a hub that can be seen from here.
func checkCluster(ctx context.Context, a *cli.App, hub *kubeclient.Client, name string, facts hubFacts) ([]show.Finding, error) {
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return nil, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	findings := append([]show.Finding{show.Connection(cluster), checkAnnotations(cluster)}, show.Identity(cluster)...)
	listed, err := checkConfigs(ctx, hub, name)
	if err != nil {
		return nil, err
	}
	findings = append(append(findings, listed), checkExternalDispatch(ctx, a, hub, facts.externalOptions)...)
	return append(findings, checkWorker(ctx, a, hub, cluster, facts)...), nil
}

// checkWorker checks what can be seen only with the hub's credentials: those themselves, and the worker.
func checkWorker(ctx context.Context, a *cli.App, hub *kubeclient.Client, cluster *kueue.MultiKueueCluster, facts hubFacts) []show.Finding {
	raw, err := a.CredentialsOf(ctx, hub, cluster)
	if err != nil {
		return []show.Finding{{
			Subject: "kubeconfig", Result: show.Warned, Detail: err.Error(), Remedy: "without it the cluster itself cannot be checked from here",
		}}
	}
	findings := []show.Finding{checkToken(a, cluster.Name, raw)}
	worker, err := a.Clusters.Credentials(raw)
	if err != nil {
		return append(findings, show.Finding{
			Subject: "kubeconfig", Result: show.Failed, Detail: err.Error(), Remedy: "cluster register " + cluster.Name,
		})
	}
	inspected := checkServer(hub, worker)
	if len(inspected) > 1 { // else it does not answer
		others, jobs := checkExternalServed(worker, facts.kinds())
		waiting, _ := facts.waitingResources()
		remedy := fmt.Sprintf("cluster register %s --context CONTEXT", cluster.Name)
		inspected = append(append(inspected, others...), checkPermissions(ctx, worker, slices.Concat(resourcesOf(kindsOfHub(hub)), jobs, waiting), remedy+facts.flags()),
			checkLeasePermissions(ctx, a, worker, facts.origin, remedy),
			checkViewer(ctx, a, hub, cluster.Name, slices.Concat(resourcesOf(kindsOfHub(hub)), jobs, waiting)), checkLocalQueues(ctx, hub, worker))
	}
	return append(findings, inspected...)
}

// checkAnnotations reports what people have said of the cluster.
func checkAnnotations(cluster *kueue.MultiKueueCluster) show.Finding {
	words := show.AnnotationText(cluster)
	f := show.Finding{Subject: "standing", Result: show.Passed, Detail: words}
	if words != "Ready" {
		f.Result, f.Remedy = show.Warned, "nothing new is offered to it: cluster uncordon "+cluster.Name
	}
	return f
}

// checkConfigs tells whether jobs can be offered to the cluster at all.
func checkConfigs(ctx context.Context, hub *kubeclient.Client, name string) (show.Finding, error) {
	var configs kueue.MultiKueueConfigList
	if err := kubeclient.ListObjects(ctx, hub, &configs); err != nil {
		return show.Finding{}, err
	}
	f := show.Finding{Subject: "configuration", Result: show.Passed}
	names := show.ListConfigs(configs.Items, name)
	if len(names) == 0 {
		f.Result, f.Detail = show.Failed, "no MultiKueueConfig lists the cluster: no job is ever offered to it"
		f.Remedy = fmt.Sprintf("cluster register %s --config CONFIG, or kubectl edit multikueueconfig", name)
		return f, nil
	}
	f.Detail = "listed in " + strings.Join(names, ", ")
	return f, nil
}

// checkToken judges the life of the hub's token.
func checkToken(a *cli.App, cluster string, raw []byte) show.Finding {
	f := show.Finding{Subject: "token", Result: show.Passed, Detail: "does not say when it ends"}
	until, ok := tokenExpiry(raw)
	if !ok {
		return f
	}
	left := until.Sub(a.Now())
	f.Detail = "good for " + duration.HumanDuration(left)
	switch {
	case left <= 0:
		f.Result, f.Detail = show.Failed, "ended "+until.UTC().Format(time.RFC3339)
	case left < expiresSoon:
		f.Result = show.Warned
	}
	if f.Result != show.Passed {
		f.Remedy = fmt.Sprintf("cluster rotate %s --context CONTEXT", cluster)
	}
	return f
}

// resourcesOf are the resources of kinds of job.
func resourcesOf(kinds []job.Integration) []workeraccess.JobResource {
	var list []workeraccess.JobResource
	for _, kind := range kinds {
		list = append(list, resourceName(kind.GVK()).GroupResource())
	}
	return list
}

// checkServer checks the worker's version and what it serves, of kinds of job those that the hub serves. The first finding is the server; it is the only one if the
// server does not answer.
func checkServer(hub, worker *kubeclient.Client) []show.Finding {
	server := show.Finding{Subject: "server", Result: show.Passed}
	info, err := worker.Kube.Discovery().ServerVersion()
	if err != nil {
		server.Result, server.Detail = show.Warned, "does not answer from here: "+err.Error()
		server.Remedy = "that is fine if only the hub's pods reach it"
		return []show.Finding{server}
	}
	server.Detail = "Kubernetes " + info.GitVersion
	if v, err := version.ParseGeneric(info.GitVersion); err == nil && v.LessThan(version.MustParseGeneric(oldestLocalQueue)) {
		server.Result, server.Remedy = show.Failed, "upgrade it to "+oldestLocalQueue+" or newer"
	}
	findings := []show.Finding{server, checkServed(worker, kueue.GroupVersion.String(), show.Failed,
		"install Switchyard there as a worker: helm install switchyard charts/switchyard --set role=worker",
		"workloads", "localqueues", "clusterqueues")}
	findings = append(findings, checkServed(worker, switchyard.GroupVersion.String(), show.Warned,
		"without Switchyard as its worker, placement does not know its capacity", "capacityreports"))
	for _, kind := range kindsOfHub(hub) {
		findings = append(findings, checkServed(worker, kind.GVK().GroupVersion().String(), show.Warned,
			"install its CRD there if jobs of that kind are to run on it", resourceName(kind.GVK()).Resource))
	}
	return findings
}

// checkServed checks that a group version serves resources.
func checkServed(worker *kubeclient.Client, groupVersion string, otherwise show.Result, remedy string, resources ...string) show.Finding {
	f := show.Finding{Subject: groupVersion, Result: show.Passed, Detail: "serves " + strings.Join(resources, ", ")}
	list, err := worker.Kube.Discovery().ServerResourcesForGroupVersion(groupVersion)
	if err != nil && !apierrors.IsNotFound(err) {
		f.Result, f.Detail, f.Remedy = show.Warned, err.Error(), "try again"
		return f
	}
	var missing []string
	for _, name := range resources {
		if list == nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		f.Result, f.Detail, f.Remedy = otherwise, "does not serve "+strings.Join(missing, ", "), remedy
	}
	return f
}

// checkPermissions asks the worker whether the hub's credentials have every right that dispatching these jobs needs.
func checkPermissions(ctx context.Context, worker *kubeclient.Client, jobs []workeraccess.JobResource, remedy string) show.Finding {
	f := show.Finding{Subject: "rights", Result: show.Passed, Detail: "the hub may do all it needs"}
	return checkAccess(ctx, worker, resourceAttributes(workeraccess.WorkerRules(jobs...), ""), f, show.Finding{
		Result: show.Failed, Detail: "the hub may not ", Remedy: remedy,
	})
}

// checkLeasePermissions asks the worker whether the hub's credentials let it renew its run lease. Jobs run without it; but then run policy
// run-once (switchyard.dev/run-policy) has them wait for the worker whenever it is out of reach.
func checkLeasePermissions(ctx context.Context, a *cli.App, worker *kubeclient.Client, origin, remedy string) show.Finding {
	f := show.Finding{
		Subject: "run lease", Result: show.Passed,
		Detail: fmt.Sprintf("the hub may renew %s in namespace %s", fence.LeaseName(origin), a.SystemNamespace),
	}
	return checkAccess(ctx, worker, resourceAttributes(workeraccess.LeaseRules(origin), a.SystemNamespace), f, show.Finding{
		Result: show.Warned, Detail: fmt.Sprintf("run policy run-once cannot be kept there: in namespace %s the hub may not ", a.SystemNamespace),
		Remedy: remedy,
	})
}

// checkAccess is passed if the worker lets the credentials do everything, else a finding with the rest of the list.
func checkAccess(ctx context.Context, worker *kubeclient.Client, wanted []authorizationv1.ResourceAttributes, passed, otherwise show.Finding) show.Finding {
	var missing []string
	for _, want := range wanted {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &want}}
		answer, err := worker.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return show.Finding{Subject: passed.Subject, Result: show.Warned, Detail: "cannot be asked: " + err.Error(), Remedy: "try again"}
		}
		if !answer.Status.Allowed {
			missing = append(missing, formatPermission(want))
		}
	}
	if len(missing) == 0 {
		return passed
	}
	otherwise.Subject, otherwise.Detail = passed.Subject, otherwise.Detail+strings.Join(missing, ", ")
	return otherwise
}

// formatPermission names a single right: "patch workloads/status", "get leases switchyard-fence".
func formatPermission(a authorizationv1.ResourceAttributes) string {
	text := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	return text
}

// resourceAttributes are the single rights that rules grant.
func resourceAttributes(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	var list []authorizationv1.ResourceAttributes
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""} // all
		}
		for _, resource := range r.Resources {
			plural, sub, _ := strings.Cut(resource, "/")
			for _, name := range names {
				for _, verb := range r.Verbs {
					list = append(list, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: r.APIGroups[0], Resource: plural, Subresource: sub, Name: name,
					})
				}
			}
		}
	}
	return list
}

// checkLocalQueues compares the hub's LocalQueues, as far as they lead to workers, with those of the worker.
func checkLocalQueues(ctx context.Context, hub, worker *kubeclient.Client) show.Finding {
	f := show.Finding{Subject: "queues", Result: show.Passed, Detail: "has the hub's LocalQueues"}
	wanted, err := listDispatchedQueues(ctx, hub)
	var there kueue.LocalQueueList
	if err = errors.Join(err, kubeclient.ListObjects(ctx, worker, &there)); err != nil {
		f.Result, f.Detail, f.Remedy = show.Warned, "cannot be compared: "+err.Error(), "try again"
		return f
	}
	var missing []string
	for _, name := range wanted {
		if !slices.ContainsFunc(there.Items, func(q kueue.LocalQueue) bool { return q.Namespace+"/"+q.Name == name }) {
			missing = append(missing, name)
		}
	}
	switch {
	case len(wanted) == 0:
		f.Detail = "the hub has no LocalQueue that leads to workers yet"
	case len(missing) > 0:
		f.Result, f.Detail = show.Warned, "has no LocalQueue "+strings.Join(missing, ", ")+": jobs of those queues cannot run there"
		f.Remedy = "create them there with the same namespace and name: queue setup"
	}
	return f
}

// listDispatchedQueues are the LocalQueues of the hub whose ClusterQueue has a multikueue check, as namespace/name, sorted.
func listDispatchedQueues(ctx context.Context, hub *kubeclient.Client) ([]string, error) {
	var checks kueue.AdmissionCheckList
	var queues kueue.ClusterQueueList
	var locals kueue.LocalQueueList
	for _, list := range []client.ObjectList{&checks, &queues, &locals} {
		if err := kubeclient.ListObjects(ctx, hub, list); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, l := range locals.Items {
		for i := range queues.Items {
			if queues.Items[i].Name == string(l.Spec.ClusterQueue) && isDispatched(&queues.Items[i], checks.Items) {
				names = append(names, l.Namespace+"/"+l.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// isDispatched tells whether a ClusterQueue sends its jobs to workers.
func isDispatched(queue *kueue.ClusterQueue, checks []kueue.AdmissionCheck) bool {
	if queue.Spec.AdmissionChecksStrategy == nil {
		return false
	}
	return slices.ContainsFunc(queue.Spec.AdmissionChecksStrategy.AdmissionChecks, func(rule kueue.AdmissionCheckStrategyRule) bool {
		return slices.ContainsFunc(checks, func(c kueue.AdmissionCheck) bool {
			return c.Name == string(rule.Name) && c.Spec.ControllerName == kueue.MultiKueueControllerName
		})
	})
}
