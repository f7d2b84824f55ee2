package configured

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

const (
	// objectVariable is the job in expressions.
	objectVariable = "object"
	// costLimit is what one evaluation may cost in CEL's units, a fifth of what the API server allows its own rules: some 20 ms.
	costLimit = 200_000
	// maxExpression is how long an expression may be, in bytes.
	maxExpression = 4 * 4096
	// maxProblems is how many mistakes of one expression are told.
	maxProblems = 5
)

// environmentOnce has the functions that expressions may use: those of the API server's rules, math.* and cel.bind.
var environmentOnce = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable(objectVariable, cel.DynType), ext.Math(), ext.Bindings(), cel.ASTValidators(allowMixed{})},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.StoredExpressions)
})

// expression is a compiled expression; nil is one that the declaration leaves out.
type expression struct {
	// path of the expression in the declaration.
	path    *field.Path
	program cel.Program
}

// compileExpression returns nil for an expression that is left out. The errors say where in the expression the mistakes are.
func compileExpression(path *field.Path, text switchyard.Expression, want *cel.Type) (*expression, field.ErrorList) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxExpression {
		return nil, field.ErrorList{field.TooLong(path, "", maxExpression)}
	}
	env, err := environmentOnce()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	if _, issues := env.Parse(string(text)); issues.Err() != nil {
		return nil, compileErrors(path, issues, 0)
	}
	compiled, issues := env.Compile(mixed + "(" + string(text) + "\n)") // the line ends a comment
	if issues.Err() != nil {
		return nil, compileErrors(path, issues, len(mixed)+1)
	}
	if out := argumentType(compiled); !isOrMayBe(out, want) {
		return nil, field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("1:1: the expression returns %s, and not %s", typeName(out), typeName(want)))}
	}
	program, err := env.Program(compiled, cel.CostLimit(costLimit))
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	return &expression{path: path, program: program}, nil
}

// mixed is the function that every expression is an argument of. Within it, lists and maps may have values of several types, as pod
// templates do; the API server's environment forbids that otherwise.
const mixed = "dyn"

// allowMixed tells CEL that it is so.
type allowMixed struct{}

// Name implements cel.ASTValidator.
func (allowMixed) Name() string { return "switchyard.dev/mixed-literals" }

// Validate implements cel.ASTValidator; it finds nothing wrong.
func (allowMixed) Validate(*cel.Env, cel.ValidatorConfig, *ast.AST, *cel.Issues) {}

// Configure implements cel.ASTValidatorConfigurer.
func (allowMixed) Configure(c cel.MutableValidatorConfig) error {
	return c.Set(cel.HomogeneousAggregateLiteralExemptFunctions, []string{mixed})
}

// argumentType is the type of the expression within [mixed].
func argumentType(compiled *cel.Ast) *cel.Type {
	checked := compiled.NativeRep()
	return checked.GetType(checked.Expr().AsCall().Args()[0].ID())
}

// isOrMayBe reports whether a value of the type can be of the wanted one. What comes from the job can be anything.
func isOrMayBe(out, want *cel.Type) bool {
	return out.Kind() == cel.DynKind || out.Kind() == want.Kind()
}

// typeName is a type in words of CEL.
func typeName(t *cel.Type) string { return cel.FormatCELType(t) }

// compileErrors are the mistakes as line:column and text, columns counted from 1. The first line has so many characters before it that are
// not the declaration's.
func compileErrors(path *field.Path, issues *cel.Issues, before int) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range issues.Errors() {
		if len(errs) == maxProblems {
			break
		}
		line, column := max(problem.Location.Line(), 1), problem.Location.Column()+1
		if line == 1 {
			column = max(column-before, 1)
		}
		where := fmt.Sprintf("%d:%d: ", line, column)
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, where+strings.TrimSpace(problem.Message)))
	}
	if len(errs) == 0 {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, issues.Err().Error()))
	}
	return errs
}

// evaluate returns the expression's value for a job, made of what JSON is made of. An error names the expression.
func (e *expression) evaluate(job map[string]any) (any, error) {
	value, _, err := e.program.Eval(map[string]any{objectVariable: job})
	if err != nil {
		return nil, e.fail(err)
	}
	native, err := toJSON(value)
	if err != nil {
		return nil, e.fail(err)
	}
	return native, nil
}

// fail is an error of the expression.
func (e *expression) fail(err error) error {
	return fmt.Errorf("%s of the JobKind: %w", e.path, err)
}

// failType says that the expression returned something else than it has to.
func (e *expression) failType(want string, got any) error {
	return e.fail(fmt.Errorf("the expression returned %s, and not %s", describe(got), want))
}

// evaluateBool is false for an expression that is left out.
func (e *expression) evaluateBool(job map[string]any) (bool, error) {
	if e == nil {
		return false, nil
	}
	value, err := e.evaluate(job)
	if err != nil {
		return false, err
	}
	answer, ok := value.(bool)
	if !ok {
		return false, e.failType("a boolean", value)
	}
	return answer, nil
}

// evaluateString is empty for an expression that is left out.
func (e *expression) evaluateString(job map[string]any) (string, error) {
	if e == nil {
		return "", nil
	}
	value, err := e.evaluate(job)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", e.failType("a string", value)
	}
	return text, nil
}

// evaluateCount is 1 for an expression that is left out.
func (e *expression) evaluateCount(job map[string]any) (int64, error) {
	if e == nil {
		return 1, nil
	}
	value, err := e.evaluate(job)
	if err != nil {
		return 0, err
	}
	count, ok := toInt(value)
	if !ok {
		return 0, e.failType("a whole number", value)
	}
	return count, nil
}

// evaluateEntries returns the maps of a list; none for an expression that is left out.
func (e *expression) evaluateEntries(job map[string]any) ([]map[string]any, error) {
	if e == nil {
		return nil, nil
	}
	value, err := e.evaluate(job)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, e.failType("a list", value)
	}
	entries := make([]map[string]any, len(list))
	for i := range list {
		if entries[i], ok = list[i].(map[string]any); !ok {
			return nil, e.failType(fmt.Sprintf("a map as entry %d", i), list[i])
		}
	}
	return entries, nil
}
