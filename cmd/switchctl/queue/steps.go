package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/manifest"
	"switchyard.dev/cmd/switchctl/show"
)

// targetAnnotation on a manifest says on which clusters "queue setup" puts it. It is not stored with the object.
const targetAnnotation = "switchyard.dev/on"

// hubTarget is the hub among clusters.
const hubTarget = "hub"

// kindOrder lists the kinds that can be set up, each after those that it refers to.
var kindOrder = []string{
	"Namespace", "Topology", "ResourceFlavor", "WorkloadPriorityClass", "MultiKueueConfig", "AdmissionCheck", "Cohort",
	"ClusterQueue", "LocalQueue",
}

// targetedDocument is an object for a cluster.
type targetedDocument struct {
	cluster string
	object  manifest.Document
}

// targetDocuments says for each document on which clusters it belongs: in the order of clusters, then of kinds, then of the file.
func targetDocuments(documents []manifest.Document, workers []string) ([]targetedDocument, error) {
	var result *multierror.Error
	var list []targetedDocument
	for _, d := range documents {
		where, err := documentTargets(d, workers)
		if err == nil {
			d.Unstructured, err = canonicalObject(d)
		}
		if err != nil {
			result = multierror.Append(result, err)
			continue
		}
		for _, cluster := range where {
			list = append(list, targetedDocument{cluster, d})
		}
	}
	if err := result.ErrorOrNil(); err != nil {
		return nil, exit.Usagef("%w", err)
	}
	rank := func(a targetedDocument) int { return slices.Index(kindOrder, a.object.GetKind()) }
	slices.SortStableFunc(list, func(a, b targetedDocument) int {
		switch {
		case a.cluster == b.cluster:
			return rank(a) - rank(b)
		case a.cluster == hubTarget:
			return -1
		case b.cluster == hubTarget:
			return 1
		}
		return strings.Compare(a.cluster, b.cluster)
	})
	return list, nil
}

// documentTargets are the clusters that a manifest is for, by its annotation: the hub if it has none, all clusters for a
// Namespace.
func documentTargets(d manifest.Document, workers []string) ([]string, error) {
	text, ok := d.GetAnnotations()[targetAnnotation]
	if !ok && d.GetKind() == "Namespace" {
		text = "all"
	} else if !ok {
		text = hubTarget
	}
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			list = append(append(list, hubTarget), workers...)
		case name == "workers":
			list = append(list, workers...)
		case name == hubTarget || slices.Contains(workers, name):
			list = append(list, name)
		default:
			return nil, fmt.Errorf("%s: annotation %s names %q, which is no worker of the hub (%s); register it first, or say hub, workers or all",
				d.Title(), targetAnnotation, name, strings.Join(workers, ", "))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// canonicalObject is a document as an API server would write it, quantities above all, without the annotation that says where it
// belongs. Fields that do not exist are errors.
func canonicalObject(d manifest.Document) (*unstructured.Unstructured, error) {
	kind := d.GroupVersionKind()
	if !slices.Contains(kindOrder, kind.Kind) || kind.Version == "v1beta1" || !kubeclient.Scheme().Recognizes(kind) {
		return nil, fmt.Errorf("%s: %s is not set up by this command, only %s of %s (and v1 Namespace)",
			d.Title(), d.GetAPIVersion(), strings.Join(kindOrder[1:], ", "), kueue.GroupVersion)
	}
	made, err := kubeclient.Scheme().New(kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title(), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(d.Object, made, true); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title(), err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Title(), err)
	}
	manifest.KeepAuthoredFields(fields)
	obj := &unstructured.Unstructured{Object: fields}
	annotations := obj.GetAnnotations()
	delete(annotations, targetAnnotation)
	obj.SetAnnotations(annotations)
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
	if kind.Kind == "LocalQueue" && obj.GetNamespace() == "" {
		return nil, fmt.Errorf("%s: a LocalQueue needs metadata.namespace, the same on the hub and on workers", d.Title())
	}
	return obj, nil
}

// setupStep is what has to be done about an object on a cluster.
type setupStep struct {
	cluster string
	site    *kubeclient.Client
	wanted  *unstructured.Unstructured
	// there is what the cluster has of what is said about the object; nil if it does not exist.
	there map[string]any
}

// planSteps reads what is there.
func planSteps(ctx context.Context, wanted []targetedDocument, reached map[string]*kubeclient.Client) ([]setupStep, error) {
	var steps []setupStep
	for _, w := range wanted {
		s := setupStep{cluster: w.cluster, site: reached[w.cluster], wanted: w.object.Unstructured}
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(s.wanted.GroupVersionKind())
		err := s.site.Get(ctx, client.ObjectKeyFromObject(s.wanted), found)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("%s: read %s %s: %w", s.cluster, s.wanted.GetKind(), s.wanted.GetName(), err)
		default:
			s.there, _ = show.ConditionText(s.wanted.Object, found.Object).(map[string]any)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// yamlTexts are what is there and what is wanted, as YAML.
func (s setupStep) yamlTexts() (before, after string) {
	if s.there != nil {
		raw, _ := yaml.Marshal(s.there) // made of what JSON knows: cannot fail
		before = string(raw)
	}
	raw, _ := yaml.Marshal(s.wanted.Object)
	return before, string(raw)
}

// pendingSteps are the steps with something to do.
func pendingSteps(steps []setupStep) []setupStep {
	return slices.DeleteFunc(slices.Clone(steps), func(s setupStep) bool {
		before, after := s.yamlTexts()
		return before == after
	})
}

// diffSteps is what the steps would change.
func diffSteps(steps []setupStep) string {
	var out strings.Builder
	for _, s := range steps {
		before, after := s.yamlTexts()
		if diff := show.Diff(before, after); diff != "" {
			fmt.Fprintf(&out, "--- %s: %s %s%s\n%s", s.cluster, s.wanted.GetKind(), kubeclient.ObjectKey(s.wanted), s.describeAction(), diff)
		}
	}
	return out.String()
}

// describeAction stands behind an object in the difference.
func (s setupStep) describeAction() string {
	if s.there == nil {
		return " (new)"
	}
	return ""
}

// describeDone says in kubectl's words what became of an object.
func (s setupStep) describeDone() string {
	if s.there == nil {
		return "created"
	}
	return "configured"
}

// dryRunSteps lets the API servers check everything, as far as they can before namespaces exist that are made too.
func dryRunSteps(ctx context.Context, steps []setupStep) error {
	var result *multierror.Error
	fresh := map[string]bool{}
	for _, s := range steps {
		if s.wanted.GetKind() == "Namespace" && s.there == nil {
			fresh[s.cluster+"/"+s.wanted.GetName()] = true
		}
		if s.wanted.GetNamespace() != "" && fresh[s.cluster+"/"+s.wanted.GetNamespace()] {
			continue
		}
		if err := s.apply(ctx, true); err != nil {
			result = multierror.Append(result, fmt.Errorf("%s: %s %s: %w", s.cluster, s.wanted.GetKind(), kubeclient.ObjectKey(s.wanted), err))
		}
	}
	if err := result.ErrorOrNil(); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}

// execute makes the change.
func (s setupStep) execute(ctx context.Context) error {
	if err := s.apply(ctx, false); err != nil {
		return fmt.Errorf("%s: %s %s: %w", s.cluster, s.wanted.GetKind(), kubeclient.ObjectKey(s.wanted), err)
	}
	return nil
}

// apply creates the object, or patches the fields that the file names. A dry run is checked by the server and stores
// nothing.
func (s setupStep) apply(ctx context.Context, dry bool) error {
	obj := s.wanted.DeepCopy()
	if s.there == nil {
		var options []client.CreateOption
		if dry {
			options = append(options, client.DryRunAll)
		}
		return s.site.Create(ctx, obj, options...)
	}
	raw, err := s.wanted.MarshalJSON()
	if err != nil {
		return err
	}
	var options []client.PatchOption
	if dry {
		options = append(options, client.DryRunAll)
	}
	return s.site.Patch(ctx, obj, client.RawPatch(types.MergePatchType, raw), options...)
}
