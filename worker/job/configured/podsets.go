package configured

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/worker/job"
)

// maxPodSets is how many pod sets a Workload can have (contract: kueue-api.md 1.7).
const maxPodSets = 18

// podSet is the declaration of a group of equal pods.
type podSet struct {
	name  string
	count *expression
	// template is the path of the pod template, or expression returns it.
	template   path
	expression *expression
	placement  placement
}

// podSets is the declaration of all groups: either list, or expression.
type podSets struct {
	list       []podSet
	expression *expression
}

// group is a group of pods of one job.
type group struct {
	// name and count as the job has them; path is where they are found wrong.
	name  string
	count int64
	path  *field.Path
	// template is what the pods are made of, in JSON, and templatePath where in the job it stands; nil if it does not.
	template     any
	templatePath path
	placement    placement
}

// compilePodSets compiles the declaration of pod sets.
func compilePodSets(spec *switchyard.JobKindSpec) (podSets, field.ErrorList) {
	root := field.NewPath("spec")
	if (len(spec.PodSets) > 0) == (spec.PodSetsExpression != "") {
		return podSets{}, field.ErrorList{field.Required(root.Child("podSets"), "one of podSets and podSetsExpression is required")}
	}
	if len(spec.PodSets) > maxPodSets {
		return podSets{}, field.ErrorList{field.TooMany(root.Child("podSets"), len(spec.PodSets), maxPodSets)}
	}
	if spec.PodSetsExpression != "" {
		e, errs := compileExpression(root.Child("podSetsExpression"), spec.PodSetsExpression, cel.ListType(cel.DynType))
		return podSets{expression: e}, errs
	}
	var result podSets
	var errs field.ErrorList
	seen := map[kueue.PodSetReference]bool{}
	for i := range spec.PodSets {
		at := root.Child("podSets").Index(i)
		set, problems := compilePodSet(at, &spec.PodSets[i])
		result.list, errs = append(result.list, set), append(errs, problems...)
		name := job.PodSetName(set.name)
		if seen[name] {
			errs = append(errs, field.Duplicate(at.Child("name"), set.name))
		}
		seen[name] = true
	}
	return result, errs
}

func compilePodSet(at *field.Path, spec *switchyard.JobKindPodSet) (podSet, field.ErrorList) {
	var errs field.ErrorList
	set := podSet{name: spec.Name}
	if (spec.Template != "") == (spec.TemplateExpression != "") {
		errs = append(errs, field.Required(at.Child("template"), "one of template and templateExpression is required"))
	}
	c := compiler{&errs}
	set.count = c.expression(at.Child("count"), spec.Count, cel.IntType)
	set.template = c.path(at.Child("template"), spec.Template, parseOwnPath)
	set.expression = c.expression(at.Child("templateExpression"), spec.TemplateExpression, cel.MapType(cel.StringType, cel.DynType))
	set.placement = c.placement(at.Child("placement"), spec.Placement, set.template)
	return set, errs
}

// groups are the job's groups of pods. An error says what is wrong with the job, or what the declaration makes of it.
func (p *podSets) groups(job map[string]any) ([]group, error) {
	if p.expression != nil {
		return p.evaluateGroups(job)
	}
	groups := make([]group, len(p.list))
	for i := range p.list {
		g, err := p.list[i].group(job)
		if err != nil {
			return nil, err
		}
		groups[i] = g
	}
	return groups, nil
}

// group is the group in one job.
func (s *podSet) group(job map[string]any) (group, error) {
	count, err := s.count.evaluateCount(job)
	if err != nil {
		return group{}, err
	}
	g := group{name: s.name, count: count, templatePath: s.template, placement: s.placement, path: s.template.fieldPath()}
	if s.expression != nil {
		g.path = field.NewPath("podSets").Key(s.name)
		g.template, err = s.expression.evaluate(job)
		return g, err
	}
	err = g.readTemplate(job)
	return g, err
}

// readTemplate finds the group's template in the job.
func (g *group) readTemplate(job map[string]any) error {
	template, found := g.templatePath.get(job)
	if !found || template == nil {
		return field.Required(g.path, "the pod template is missing")
	}
	g.template = template
	return nil
}

// evaluateGroups are the groups that the expression returns.
func (p *podSets) evaluateGroups(job map[string]any) ([]group, error) {
	entries, err := p.expression.evaluateEntries(job)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxPodSets {
		return nil, p.expression.fail(fmt.Errorf("the expression returned %d pod sets, and a Workload has at most %d", len(entries), maxPodSets))
	}
	groups := make([]group, len(entries))
	for i, entry := range entries {
		if groups[i], err = readEntry(job, entry); err != nil {
			return nil, p.expression.fail(fmt.Errorf("entry %d: %w", i, err))
		}
	}
	return groups, nil
}

var errTemplate = errors.New("one of path and template is required")

// readEntry reads an entry of a list that an expression returned.
func readEntry(job, entry map[string]any) (group, error) {
	var g group
	for key := range entry {
		switch key {
		case "name", "count", "path", "template", "placement":
		default:
			return g, fmt.Errorf("%q is not one of name, count, path, template, placement", key)
		}
	}
	var ok bool
	if g.name, ok = entry["name"].(string); !ok || g.name == "" {
		return g, errors.New("name must be a string")
	}
	if g.count, ok = toInt(entry["count"]); !ok {
		return g, errors.New("count must be a whole number")
	}
	text, hasPath := entry["path"].(string)
	if template, found := entry["template"]; hasPath == (found && template != nil) {
		return g, errTemplate
	}
	g.path, g.template = field.NewPath("podSets").Key(g.name), entry["template"]
	if hasPath {
		var err error
		if g.templatePath, err = parseOwnPath(text); err != nil {
			return g, fmt.Errorf("path: %w", err)
		}
		g.path = g.templatePath.fieldPath()
		if err := g.readTemplate(job); err != nil {
			return g, err
		}
	}
	placement, err := readPlacement(entry["placement"], g.templatePath)
	g.placement = placement
	return g, err
}

// podSet is the group's pod set, with what an admission may change from where it is placed.
func (g *group) podSet(object map[string]any) (kueue.PodSet, error) {
	if g.count < 0 || g.count > math.MaxInt32 {
		return kueue.PodSet{}, field.Invalid(g.path, g.count, fmt.Sprintf("must be 0 to %d pods", math.MaxInt32))
	}
	set := kueue.PodSet{Name: job.PodSetName(g.name), Count: int32(g.count)}
	if err := decode(g.path, g.template, &set.Template); err != nil {
		return kueue.PodSet{}, err
	}
	if len(set.Template.Spec.Containers) == 0 {
		return kueue.PodSet{}, field.Required(g.path, "the pod template has no containers")
	}
	placed, err := g.placement.read(object)
	if err != nil {
		return kueue.PodSet{}, err
	}
	g.placement.complete(&set.Template, placed)
	return set, nil
}

// decode reads a value of JSON as an object of Go. The path is where the value stands.
func decode(at *field.Path, value, into any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, into)
	}
	if err != nil {
		return field.Invalid(at, field.OmitValueType{}, err.Error())
	}
	return nil
}

// encode is the value of JSON that stands for an object of Go; nil for an empty one.
func encode(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var result any
	err = kjson.UnmarshalCaseSensitivePreserveInts(data, &result)
	return result, err
}

// templateParts are the parts of a pod template that an admission can change.
func templateParts(t *corev1.PodTemplateSpec) job.Placement {
	return job.Placement{
		NodeSelector: t.Spec.NodeSelector, Tolerations: t.Spec.Tolerations, SchedulingGates: t.Spec.SchedulingGates,
		Labels: t.Labels, Annotations: t.Annotations,
	}
}
