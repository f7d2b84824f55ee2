package main

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

	"switchyard.dev/admissioncheck/multikueue/fleet"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/worker/fence"
	"switchyard.dev/worker/job/all"
)

// oldest is the oldest Kubernetes that a worker may have, as the chart says.
const oldest = "1.31.0"

// expiresSoon is when a token's end becomes a warning.
const expiresSoon = 14 * 24 * time.Hour

// hubFacts are what a check has to know of the hub and cannot ask its API.
type hubFacts struct {
	origin string
	externals
}

// examine checks everything about a registered cluster of a hub that can be seen from here.
func (a *app) examine(ctx context.Context, hub *site, name string, facts hubFacts) ([]show.Finding, error) {
	cluster := &kueue.MultiKueueCluster{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return nil, fmt.Errorf("read MultiKueueCluster %s: %w", name, err)
	}
	findings := append([]show.Finding{show.Connection(cluster), standing(cluster)}, show.Identity(cluster)...)
	listed, err := listing(ctx, hub, name)
	if err != nil {
		return nil, err
	}
	findings = append(append(findings, listed), a.handedOver(ctx, hub, facts.externals)...)
	return append(findings, a.beyond(ctx, hub, cluster, facts)...), nil
}

// beyond checks what can be seen only with the hub's credentials: those themselves, and the worker.
func (a *app) beyond(ctx context.Context, hub *site, cluster *kueue.MultiKueueCluster, facts hubFacts) []show.Finding {
	raw, err := a.credentialsOf(ctx, hub, cluster)
	if err != nil {
		return []show.Finding{{
			Subject: "kubeconfig", Result: show.Warned, Detail: err.Error(), Remedy: "without it the cluster itself cannot be checked from here",
		}}
	}
	findings := []show.Finding{a.token(cluster.Name, raw)}
	worker, err := a.sites.credentials(raw)
	if err != nil {
		return append(findings, show.Finding{
			Subject: "kubeconfig", Result: show.Failed, Detail: err.Error(), Remedy: "cluster register " + cluster.Name,
		})
	}
	inspected := serving(worker)
	if len(inspected) > 1 { // else it does not answer
		others, jobs := servingExternal(worker, facts.kinds())
		remedy := fmt.Sprintf("cluster register %s --context CONTEXT", cluster.Name)
		inspected = append(append(inspected, others...), permitted(ctx, worker, append(jobResources(), jobs...), remedy+facts.flags()),
			a.fencing(ctx, worker, facts.origin, remedy), logged(ctx, worker), queued(ctx, hub, worker))
	}
	return append(findings, inspected...)
}

// standing reports what people have said of the cluster.
func standing(cluster *kueue.MultiKueueCluster) show.Finding {
	words := show.Standing(cluster)
	f := show.Finding{Subject: "standing", Result: show.Passed, Detail: words}
	if words != "Ready" {
		f.Result, f.Remedy = show.Warned, "nothing new is offered to it: cluster uncordon "+cluster.Name
	}
	return f
}

// listing tells whether jobs can be offered to the cluster at all.
func listing(ctx context.Context, hub *site, name string) (show.Finding, error) {
	var configs kueue.MultiKueueConfigList
	if err := listAll(ctx, hub, &configs); err != nil {
		return show.Finding{}, err
	}
	f := show.Finding{Subject: "configuration", Result: show.Passed}
	names := show.ConfigsOf(configs.Items, name)
	if len(names) == 0 {
		f.Result, f.Detail = show.Failed, "no MultiKueueConfig lists the cluster: no job is ever offered to it"
		f.Remedy = fmt.Sprintf("cluster register %s --config CONFIG, or kubectl edit multikueueconfig", name)
		return f, nil
	}
	f.Detail = "listed in " + strings.Join(names, ", ")
	return f, nil
}

// token judges the life of the hub's token.
func (a *app) token(cluster string, raw []byte) show.Finding {
	f := show.Finding{Subject: "token", Result: show.Passed, Detail: "does not say when it ends"}
	until, ok := tokenExpiry(raw)
	if !ok {
		return f
	}
	left := until.Sub(a.now())
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

// serving checks the worker's version and what it serves. The first finding is the server; it is the only one if the
// server does not answer.
func serving(worker *site) []show.Finding {
	server := show.Finding{Subject: "server", Result: show.Passed}
	info, err := worker.kube.Discovery().ServerVersion()
	if err != nil {
		server.Result, server.Detail = show.Warned, "does not answer from here: "+err.Error()
		server.Remedy = "that is fine if only the hub's pods reach it"
		return []show.Finding{server}
	}
	server.Detail = "Kubernetes " + info.GitVersion
	if v, err := version.ParseGeneric(info.GitVersion); err == nil && v.LessThan(version.MustParseGeneric(oldest)) {
		server.Result, server.Remedy = show.Failed, "upgrade it to "+oldest+" or newer"
	}
	findings := []show.Finding{server, served(worker, kueue.GroupVersion.String(), show.Failed,
		"install Switchyard there as a worker: helm install switchyard charts/switchyard --set role=worker",
		"workloads", "localqueues", "clusterqueues")}
	findings = append(findings, served(worker, switchyard.GroupVersion.String(), show.Warned,
		"without Switchyard as its worker, placement does not know its capacity", "capacityreports"))
	for _, kind := range all.Kinds() {
		if kind.Mirrorable() {
			plural := resourceOf(kind.GVK())
			findings = append(findings, served(worker, kind.GVK().GroupVersion().String(), show.Warned,
				"install its CRD there if jobs of that kind are to run on it", plural.Resource))
		}
	}
	return findings
}

// served checks that a group version serves resources.
func served(worker *site, groupVersion string, otherwise show.Result, remedy string, resources ...string) show.Finding {
	f := show.Finding{Subject: groupVersion, Result: show.Passed, Detail: "serves " + strings.Join(resources, ", ")}
	list, err := worker.kube.Discovery().ServerResourcesForGroupVersion(groupVersion)
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

// permitted asks the worker whether the hub's credentials have every right that dispatching these jobs needs.
func permitted(ctx context.Context, worker *site, jobs []fleet.JobResource, remedy string) show.Finding {
	f := show.Finding{Subject: "rights", Result: show.Passed, Detail: "the hub may do all it needs"}
	return judged(ctx, worker, attributes(fleet.WorkerRules(jobs...), ""), f, show.Finding{
		Result: show.Failed, Detail: "the hub may not ", Remedy: remedy,
	})
}

// fencing asks the worker whether the hub's credentials let it renew its run lease. Jobs run without it; but then run policy
// run-once (switchyard.dev/run-policy) has them wait for the worker whenever it is out of reach.
func (a *app) fencing(ctx context.Context, worker *site, origin, remedy string) show.Finding {
	f := show.Finding{
		Subject: "run lease", Result: show.Passed,
		Detail: fmt.Sprintf("the hub may renew %s in namespace %s", fence.LeaseName(origin), a.system),
	}
	return judged(ctx, worker, attributes(fleet.LeaseRules(origin), a.system), f, show.Finding{
		Result: show.Warned, Detail: fmt.Sprintf("run policy run-once cannot be kept there: in namespace %s the hub may not ", a.system),
		Remedy: remedy,
	})
}

// logged tells whether the hub's credentials have what --allow-logs gives, which whoever reads them then has too. Either way
// is fine.
func logged(ctx context.Context, worker *site) show.Finding {
	f := show.Finding{Subject: "logs", Result: show.Passed, Detail: "the hub's account reads those of every namespace (--allow-logs)"}
	return judged(ctx, worker, attributes(logRules(), ""), f, show.Finding{
		Result: show.Passed, Detail: "the hub's account reads none: it may not ",
	})
}

// judged is passed if the worker lets the credentials do everything, else a finding with the rest of the list.
func judged(ctx context.Context, worker *site, wanted []authorizationv1.ResourceAttributes, passed, otherwise show.Finding) show.Finding {
	var missing []string
	for _, want := range wanted {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &want}}
		answer, err := worker.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return show.Finding{Subject: passed.Subject, Result: show.Warned, Detail: "cannot be asked: " + err.Error(), Remedy: "try again"}
		}
		if !answer.Status.Allowed {
			missing = append(missing, right(want))
		}
	}
	if len(missing) == 0 {
		return passed
	}
	otherwise.Subject, otherwise.Detail = passed.Subject, otherwise.Detail+strings.Join(missing, ", ")
	return otherwise
}

// right names a single right: "patch workloads/status", "get leases switchyard-fence".
func right(a authorizationv1.ResourceAttributes) string {
	text := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	return text
}

// attributes are the single rights that rules grant.
func attributes(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
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

// queued compares the hub's LocalQueues, as far as they lead to workers, with those of the worker.
func queued(ctx context.Context, hub, worker *site) show.Finding {
	f := show.Finding{Subject: "queues", Result: show.Passed, Detail: "has the hub's LocalQueues"}
	wanted, err := dispatchedQueues(ctx, hub)
	var there kueue.LocalQueueList
	if err = errors.Join(err, listAll(ctx, worker, &there)); err != nil {
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

// dispatchedQueues are the LocalQueues of the hub whose ClusterQueue has a multikueue check, as namespace/name, sorted.
func dispatchedQueues(ctx context.Context, hub *site) ([]string, error) {
	var checks kueue.AdmissionCheckList
	var queues kueue.ClusterQueueList
	var locals kueue.LocalQueueList
	for _, list := range []client.ObjectList{&checks, &queues, &locals} {
		if err := listAll(ctx, hub, list); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, l := range locals.Items {
		for i := range queues.Items {
			if queues.Items[i].Name == string(l.Spec.ClusterQueue) && dispatches(&queues.Items[i], checks.Items) {
				names = append(names, l.Namespace+"/"+l.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// dispatches tells whether a ClusterQueue sends its jobs to workers.
func dispatches(queue *kueue.ClusterQueue, checks []kueue.AdmissionCheck) bool {
	if queue.Spec.AdmissionChecksStrategy == nil {
		return false
	}
	return slices.ContainsFunc(queue.Spec.AdmissionChecksStrategy.AdmissionChecks, func(rule kueue.AdmissionCheckStrategyRule) bool {
		return slices.ContainsFunc(checks, func(c kueue.AdmissionCheck) bool {
			return c.Name == string(rule.Name) && c.Spec.ControllerName == kueue.MultiKueueControllerName
		})
	})
}
