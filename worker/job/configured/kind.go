package configured

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// object is a job without a Go type.
type object = unstructured.Unstructured

// fields are the job's own, never nil.
func fields(j *object) map[string]any {
	if j.Object == nil {
		j.Object = map[string]any{}
	}
	return j.Object
}

// Integration is the kind as the reconciler, the webhooks and the dispatcher know it.
func (p *Program) Integration() job.Integration { return job.NewIntegration(p.Kind()) }

// Kind is the declaration that the program stands for.
func (p *Program) Kind() job.Kind[*object] {
	kind := job.Kind[*object]{
		Name:        p.gvk.Group + "/" + strings.ToLower(p.gvk.Kind),
		GVK:         p.gvk,
		AddToScheme: func(*runtime.Scheme) error { return nil },
		New:         p.newObject,
		NewList:     p.newList,
		PodSets:     p.readPodSets,
		Suspended:   func(j *object) bool { return p.suspend.isSuspended(fields(j)) },
		SetSuspend:  func(j *object, suspended bool) { p.suspend.set(fields(j), suspended) },
		Place:       p.place,
		Restore:     p.restore,
		Progress:    func(j *object) job.Progress { return p.progressOf(fields(j)) },
		Stop:        p.stopFunc(),
		Priority:    p.readPriorityClass,
		Unfenced:    true,
		Webhook:     job.Webhook[*object]{TemplatePath: p.templatePath},
	}
	if p.podLabels != nil {
		kind.PodLabels = func(j *object) map[string]string { return p.readPodLabels(fields(j)) }
	}
	return p.withDispatch(kind)
}

func (p *Program) newObject() *object {
	j := &object{}
	j.SetGroupVersionKind(p.gvk)
	return j
}

func (p *Program) newList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(p.gvk.GroupVersion().WithKind(p.gvk.Kind + "List"))
	return list
}

// readPodSets is Kind.PodSets.
func (p *Program) readPodSets(j *object) ([]kueue.PodSet, error) {
	groups, err := p.podSets.groups(fields(j))
	if err != nil {
		return nil, err
	}
	sets := make([]kueue.PodSet, len(groups))
	for i := range groups {
		if sets[i], err = groups[i].podSet(fields(j)); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// place is Kind.Place.
func (p *Program) place(j *object, placements []job.Placement) error {
	groups, err := p.podSets.groups(fields(j))
	if err != nil {
		return err
	}
	if err := job.MatchPlacements(len(groups), placements); err != nil {
		return err
	}
	for i := range groups {
		if err := groups[i].placement.place(fields(j), placements[i]); err != nil {
			return err
		}
	}
	return nil
}

// restore is Kind.Restore. What cannot be read is left as it is; the job then asks for other pods than its Workload.
func (p *Program) restore(j *object, sets []kueue.PodSet) {
	groups, err := p.podSets.groups(fields(j))
	if err != nil {
		return
	}
	for i := range groups {
		name, at := job.PodSetName(groups[i].name), &groups[i].placement
		for k := range sets {
			if sets[k].Name != name {
				continue
			}
			if is, err := at.read(fields(j)); err == nil {
				_ = at.write(fields(j), is, templateParts(&sets[k].Template))
			}
		}
	}
}

// readPriorityClass is Kind.Priority. An expression that fails names no class.
func (p *Program) readPriorityClass(j *object) string {
	name, err := p.priorityClass.evaluateString(fields(j))
	if err != nil {
		return ""
	}
	return name
}

// readPodLabels is Kind.PodLabels. An expression that fails, or returns no labels, finds no pods, by a label that none can have: without any it
// would find those of everybody.
func (p *Program) readPodLabels(job map[string]any) map[string]string {
	none := map[string]string{noLabel: noLabel}
	value, err := p.podLabels.evaluate(job)
	entries, ok := value.(map[string]any)
	if err != nil || !ok || len(entries) == 0 {
		return none
	}
	labels := make(map[string]string, len(entries))
	for key, value := range entries {
		text, ok := value.(string)
		if !ok || len(validation.IsQualifiedName(key)) > 0 {
			return none
		}
		labels[key] = text
	}
	return labels
}

// noLabel is neither a key nor a value of a label.
const noLabel = "/"

// templatePath is where the i-th pod template's metadata is, for what is wrong with it.
func (p *Program) templatePath(j *object, i int) *field.Path {
	groups, err := p.podSets.groups(fields(j))
	if err != nil || i >= len(groups) {
		return field.NewPath("podSets").Index(i)
	}
	return cmp.Or(groups[i].path, field.NewPath("podSets").Index(i)).Child(metadataField)
}

// withDispatch completes the kind by how its jobs run on other clusters.
func (p *Program) withDispatch(kind job.Kind[*object]) job.Kind[*object] {
	d := p.dispatch
	if d == nil {
		return kind
	}
	kind.ManagedBy = &job.ManagedBy[*object]{
		Path: d.managedBy.fieldPath().String(), Default: d.manager,
		Get: func(j *object) string { return d.managerOf(fields(j)) },
		Set: func(j *object, manager string) { d.setManager(fields(j), manager) },
	}
	kind.CopyStatus, kind.Detach = p.copyStatus, p.detach
	return kind
}
