package configured

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// Program is a declaration that was found sound. It holds no state, and may be used by several goroutines.
type Program struct {
	gvk           schema.GroupVersionKind
	podSets       podSets
	suspend       suspend
	priorityClass *expression
	podLabels     *expression
	progress      progress
	dispatch      *dispatch
}

// GVK is the kind that is declared.
func (p *Program) GVK() schema.GroupVersionKind { return p.gvk }

// Compile returns the program of a declaration. The errors say which field is wrong, and where in its expression; there is no program then.
func Compile(spec *switchyard.JobKindSpec) (*Program, field.ErrorList) {
	root := field.NewPath("spec")
	var errs field.ErrorList
	c := compiler{&errs}
	p := &Program{gvk: schema.GroupVersionKind{Group: spec.Group, Version: spec.Version, Kind: spec.Kind}}
	errs = append(errs, validateGVK(root, p.gvk)...)
	sets, problems := compilePodSets(spec)
	p.podSets, errs = sets, append(errs, problems...)
	p.suspend = c.suspend(root, spec)
	p.priorityClass = c.expression(root.Child("priorityClass"), spec.PriorityClass, cel.StringType)
	p.podLabels = c.expression(root.Child("podLabels"), spec.PodLabels, cel.MapType(cel.StringType, cel.DynType))
	p.progress = c.progress(root.Child("progress"), &spec.Progress)
	p.dispatch = c.dispatch(root.Child("dispatch"), spec.Dispatch)
	if len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

// validateGVK checks the name of a kind, which a declaration from before a rule, or from a client without a schema, may lack.
func validateGVK(root *field.Path, gvk schema.GroupVersionKind) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Subdomain(gvk.Group) {
		errs = append(errs, field.Invalid(root.Child("group"), gvk.Group, problem))
	}
	for _, problem := range validation.IsDNS1035Label(gvk.Version) {
		errs = append(errs, field.Invalid(root.Child("version"), gvk.Version, problem))
	}
	if gvk.Kind == "" || gvk.Kind[0] < 'A' || gvk.Kind[0] > 'Z' || len(validation.IsValidLabelValue(gvk.Kind)) > 0 {
		errs = append(errs, field.Invalid(root.Child("kind"), gvk.Kind, "must be the name of a kind, such as TrainingRun"))
	}
	return errs
}

// compiler collects what is wrong with the parts of a declaration.
type compiler struct{ errs *field.ErrorList }

func (c compiler) expression(at *field.Path, text switchyard.Expression, want *cel.Type) *expression {
	e, errs := compileExpression(at, text, want)
	*c.errs = append(*c.errs, errs...)
	return e
}

func (c compiler) path(at *field.Path, text switchyard.FieldPath, parse func(string) (path, error)) path {
	p, errs := compilePath(at, text, parse)
	*c.errs = append(*c.errs, errs...)
	return p
}

// require notes that a field is missing.
func (c compiler) require(at *field.Path, found bool) {
	if !found {
		*c.errs = append(*c.errs, field.Required(at, ""))
	}
}

// value reads a value of JSON that is neither a list nor a map; fallback where there is none.
func (c compiler) value(at *field.Path, raw *apiextensionsv1.JSON, fallback any) any {
	if raw == nil {
		return fallback
	}
	var value any
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw.Raw, &value)
	if err == nil {
		switch value.(type) {
		case nil, []any, map[string]any:
			err = errors.New("must be a string, a number or a boolean")
		}
	}
	if err != nil {
		*c.errs = append(*c.errs, field.Invalid(at, string(raw.Raw), err.Error()))
	}
	return value
}

// placement compiles where an admission goes: to the template, but for what the declaration says.
func (c compiler) placement(at *field.Path, spec *switchyard.JobKindPlacement, template path) placement {
	p := templatePlacement(template)
	if spec == nil {
		return p
	}
	for _, part := range []struct {
		name string
		text switchyard.FieldPath
		into *path
	}{
		{"nodeSelector", spec.NodeSelector, &p.nodeSelector},
		{"tolerations", spec.Tolerations, &p.tolerations},
		{"labels", spec.Labels, &p.labels},
		{"annotations", spec.Annotations, &p.annotations},
		{"schedulingGates", spec.SchedulingGates, &p.schedulingGates},
	} {
		if part.text != "" {
			*part.into = c.path(at.Child(part.name), part.text, parseOwnPath)
		}
	}
	for i, part := range spec.Discard {
		if !isPlacementPart(part) {
			*c.errs = append(*c.errs, field.Invalid(at.Child("discard").Index(i), part, fmt.Sprintf("must be one of %q", placementParts())))
		}
	}
	p.discard = spec.Discard
	return p
}
