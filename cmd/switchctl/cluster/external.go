package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/features"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
	"switchyard.dev/worker/job/all"
)

// hubDeployment is the Deployment of the hub's program, of which there is one a cluster; hubConfig its volume with the configuration.
const (
	hubDeployment = "switchyard"
	hubConfig     = "config"
)

// externalFlag names kinds of job that only the hub's configuration knows, for a command that has to know them too; podsFlag says that what
// waits pod by pod is among them.
const (
	externalFlag = "external-framework"
	podsFlag     = "pods"
)

// externalOptions are the kinds of job that only the hub knows: by its configuration (multiKueue.externalFrameworks, and what
// waits pod by pod of its integrations.frameworks) or its JobKinds.
type externalOptions struct {
	// named are those of the command line, configured those of the configuration that was found.
	named, configured []schema.GroupVersionKind
	// declared are those of JobKinds that say how jobs run elsewhere. What they say of themselves on the hub is not checked again.
	declared []schema.GroupVersionKind
	// waiting are the kinds of what waits pod by pod in the configuration that was found; pods is set if the command line says that the hub
	// dispatches all of them.
	waiting []schema.GroupVersionKind
	pods    bool
	// account is the ServiceAccount of the hub's program; empty if that was not found.
	account string
}

// kinds are all of them, the command line's first.
func (e externalOptions) kinds() []schema.GroupVersionKind {
	return appendMissing(e.frameworks(), e.declared)
}

// frameworks are those of command line and configuration.
func (e externalOptions) frameworks() []schema.GroupVersionKind {
	return appendMissing(slices.Clone(e.named), e.configured)
}

func appendMissing(list, more []schema.GroupVersionKind) []schema.GroupVersionKind {
	for _, kind := range more {
		if !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}

// flags are what registers all that JobKinds do not tell of.
func (e externalOptions) flags() string {
	var text strings.Builder
	for _, kind := range e.frameworks() {
		fmt.Fprintf(&text, " --%s %s", externalFlag, kindArgument(kind))
	}
	if e.pods || len(e.waiting) > 0 {
		text.WriteString(" --" + podsFlag)
	}
	return text.String()
}

// kindArgument is Kind.version.group.
func kindArgument(kind schema.GroupVersionKind) string {
	return kind.Kind + "." + kind.Version + "." + kind.Group
}

// parseKinds reads names of the form Kind.version.group.
func parseKinds(names []string) ([]schema.GroupVersionKind, error) {
	var kinds []schema.GroupVersionKind
	for _, name := range names {
		kind, _ := schema.ParseKindArg(name)
		if kind == nil || kind.Group == "" {
			return nil, exit.Usagef("--%s %q: want Kind.version.group", externalFlag, name)
		}
		kinds = append(kinds, *kind)
	}
	return kinds, nil
}

// listDeclared are the kinds of the hub's JobKinds that say how jobs run elsewhere; none where there are no JobKinds, or the caller may not
// see them.
func listDeclared(ctx context.Context, hub *kubeclient.Client) ([]schema.GroupVersionKind, error) {
	var list switchyard.JobKindList
	err := kubeclient.ListObjects(ctx, hub, &list)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for i := range list.Items {
		if spec := &list.Items[i].Spec; spec.Dispatch != nil {
			kinds = append(kinds, schema.GroupVersionKind{Group: spec.Group, Version: spec.Version, Kind: spec.Kind})
		}
	}
	return kinds, nil
}

// newExternalOptions adds to the kinds of the command line those of the hub's configuration and JobKinds. Where that cannot be seen (the program runs
// outside of its cluster, or the caller may not look) the command line has to say it all. An error is that of a hub that does not
// answer: then it is not known what is meant.
func newExternalOptions(ctx context.Context, a *cli.App, hub *kubeclient.Client, e externalOptions) (externalOptions, error) {
	var err error
	if e.declared, err = listDeclared(ctx, hub); err != nil {
		return e, err
	}
	program := &appsv1.Deployment{}
	found, err := kubeclient.GetIfAllowed(ctx, hub, client.ObjectKey{Namespace: a.SystemNamespace, Name: hubDeployment}, program)
	if err != nil || !found {
		return e, err
	}
	pod := program.Spec.Template.Spec
	e.account = pod.ServiceAccountName
	for _, volume := range pod.Volumes {
		if volume.Name != hubConfig || volume.ConfigMap == nil {
			continue
		}
		file := &corev1.ConfigMap{}
		if found, err = kubeclient.GetIfAllowed(ctx, hub, client.ObjectKey{Namespace: a.SystemNamespace, Name: volume.ConfigMap.Name}, file); err != nil {
			return e, err
		} else if found {
			e.configured = parseExternalKinds(file.Data["config.yaml"])
			e.waiting = parseWaiting(file.Data["config.yaml"])
		}
	}
	return e, nil
}

// parseExternalKinds are the external kinds that a hub with that configuration dispatches.
func parseExternalKinds(text string) []schema.GroupVersionKind {
	c, err := config.Load([]byte(text))
	if err != nil || c.MultiKueue == nil {
		return nil // the program would not run with it either
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil || !gates.Enabled(features.MultiKueueAdaptersForCustomJobs) {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for _, framework := range c.MultiKueue.ExternalFrameworks {
		if kind, _ := schema.ParseKindArg(framework.Name); kind != nil {
			kinds = append(kinds, *kind)
		}
	}
	return kinds
}

// parseWaiting are the kinds of what waits pod by pod that a hub with that configuration dispatches (contract: job-kinds.md 10.8, 12, 13).
func parseWaiting(text string) []schema.GroupVersionKind {
	c, err := config.Load([]byte(text))
	if err != nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for _, kind := range all.Mirrored() {
		if slices.Contains(c.Integrations.Frameworks, kind.Name()) {
			kinds = append(kinds, kind.GVK())
		}
	}
	return kinds
}

// waitingResources are what waits pod by pod, as far as the hub dispatches it; all of it if a person says so. Of those, followed are the ones
// that follow changes of the hub's.
func (e externalOptions) waitingResources() (jobs, followed []workeraccess.JobResource) {
	for _, kind := range all.Mirrored() {
		gvk := kind.GVK()
		if !e.pods && !slices.Contains(e.waiting, gvk) {
			continue
		}
		jobs = append(jobs, resourceName(gvk).GroupResource())
		if kind.FollowsSpec() {
			followed = append(followed, resourceName(gvk).GroupResource())
		}
	}
	return jobs, followed
}

// externalResources are the resources of kinds: as the worker serves them, or else as they are called if their plural is regular.
func externalResources(worker *kubeclient.Client, kinds []schema.GroupVersionKind) ([]workeraccess.JobResource, error) {
	var list []workeraccess.JobResource
	for _, kind := range kinds {
		resource := resourceName(kind).GroupResource()
		mapping, err := worker.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case err == nil:
			resource = mapping.Resource.GroupResource()
		case !meta.IsNoMatchError(err):
			return nil, fmt.Errorf("look for %s on the worker: %w", kindArgument(kind), err)
		}
		list = append(list, resource)
	}
	return list, nil
}

// externalResource is how a cluster serves a kind. An empty plural says that it does not.
type externalResource struct {
	plural string
	// status tells that the status has an endpoint of its own.
	status bool
}

// lookupExternal returns the resource of a kind as the cluster serves it; the zero value if it does not serve the kind.
func lookupExternal(at *kubeclient.Client, kind schema.GroupVersionKind) (externalResource, error) {
	var found externalResource
	list, err := at.Kube.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return found, client.IgnoreNotFound(err)
	}
	for _, r := range list.APIResources {
		if name, sub, _ := strings.Cut(r.Name, "/"); r.Kind == kind.Kind {
			found.plural, found.status = name, found.status || sub == "status"
		}
	}
	return found, nil
}

// checkExternalServed checks how a worker serves external kinds, and returns the resources of those that it does.
func checkExternalServed(worker *kubeclient.Client, kinds []schema.GroupVersionKind) (findings []show.Finding, served []workeraccess.JobResource) {
	for _, kind := range kinds {
		f := show.Finding{Subject: kind.GroupVersion().String(), Result: show.Passed}
		found, err := lookupExternal(worker, kind)
		switch {
		case err != nil:
			f.Result, f.Detail, f.Remedy = show.Warned, err.Error(), "try again"
		case found.plural == "":
			f.Result, f.Detail = show.Warned, "does not serve "+kind.Kind
			f.Remedy = "install its CRD and its controllers there if jobs of that kind are to run on it"
		default:
			f.Detail = "serves " + found.plural
			if has, known := hasField(worker, kind, "spec", "suspend"); known && !has {
				f.Detail += ", which have no spec.suspend: only their own controllers can stop one"
			}
			served = append(served, workeraccess.JobResource{Group: kind.Group, Resource: found.plural})
		}
		findings = append(findings, f)
	}
	return findings, served
}

// checkExternalDispatch checks, for every external kind that no JobKind declares, whether the hub can dispatch its jobs at all: whether it serves the kind, whether a
// job can be handed to the dispatcher and has a status to be written, and whether the program's account may see it and write that.
func checkExternalDispatch(ctx context.Context, a *cli.App, hub *kubeclient.Client, e externalOptions) []show.Finding {
	var findings []show.Finding
	for _, kind := range e.frameworks() {
		f := show.Finding{Subject: "hub: " + kind.GroupVersion().String(), Result: show.Warned}
		found, err := lookupExternal(hub, kind)
		managed, known := true, false
		if err == nil && found.plural != "" {
			managed, known = hasField(hub, kind, "spec", "managedBy")
		}
		switch {
		case err != nil:
			f.Detail, f.Remedy = err.Error(), "try again"
		case found.plural == "":
			f.Detail, f.Remedy = "does not serve "+kind.Kind+": there can be no jobs of that kind", "install its CRD and its controllers on the hub"
		case known && !managed:
			f.Detail = found.plural + " have no spec.managedBy, so that none can be handed to the dispatcher"
			f.Remedy = "install a version of the CRD that has it"
		case !found.status:
			f.Detail = found.plural + " have no status subresource, so that nobody sees on the hub what became of one"
			f.Remedy = "give the CRD subresources: {status: {}}"
		default:
			f = checkExternalPermissions(ctx, a, hub, e.account, schema.GroupResource{Group: kind.Group, Resource: found.plural}, f)
		}
		findings = append(findings, f)
	}
	return findings
}

// checkExternalPermissions completes a finding about a resource that the hub serves by what the account of the hub's program may do with it.
func checkExternalPermissions(ctx context.Context, a *cli.App, hub *kubeclient.Client, account string, resource schema.GroupResource, f show.Finding) show.Finding {
	f.Result, f.Detail = show.Passed, "serves "+resource.Resource
	if account == "" {
		return f
	}
	var missing []string
	for _, want := range []authorizationv1.ResourceAttributes{{Verb: "get"}, {Verb: "list"}, {Verb: "watch"}, {Verb: "patch", Subresource: "status"}} {
		want.Group, want.Resource = resource.Group, resource.Resource
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + a.SystemNamespace + ":" + account, ResourceAttributes: &want,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + a.SystemNamespace, "system:authenticated"},
		}}
		answer, err := hub.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			f.Detail += "; you may not ask what the hub may do with them"
			return f
		case err != nil:
			f.Result, f.Detail, f.Remedy = show.Warned, "cannot be asked: "+err.Error(), "try again"
			return f
		case !answer.Status.Allowed:
			missing = append(missing, formatPermission(want))
		}
	}
	if len(missing) == 0 {
		f.Detail += ", which the hub may see and report on"
		return f
	}
	f.Result, f.Detail = show.Warned, "the hub may not "+strings.Join(missing, ", ")
	f.Remedy = fmt.Sprintf("grant that to ServiceAccount %s in namespace %s of the hub", account, a.SystemNamespace)
	return f
}
