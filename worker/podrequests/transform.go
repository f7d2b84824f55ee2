package podrequests

import (
	"math/big"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	config "switchyard.dev/apis/config/v1beta2"
	"switchyard.dev/worker/admission/amount"
)

// Rules say which resources count, and as what (contract: kueue-api.md 7, resources). The zero value counts all as they are.
type Rules struct {
	// ExcludePrefixes are prefixes of the names of resources that do not count.
	ExcludePrefixes []string
	// Transformations by their input. They do not feed each other.
	Transformations map[corev1.ResourceName]Transformation
}

// Transformation turns a resource into others.
type Transformation struct {
	// Replace says that the input itself does not count.
	Replace bool
	// MultiplyBy multiplies the outputs by what the pod requests of another resource; by 1 if it requests none.
	MultiplyBy corev1.ResourceName
	// Outputs for one unit of the input.
	Outputs corev1.ResourceList
}

// NewRules are the rules of a configuration; nil gives none.
func NewRules(cfg *config.Resources) Rules {
	if cfg == nil {
		return Rules{}
	}
	r := Rules{ExcludePrefixes: cfg.ExcludeResourcePrefixes}
	for _, t := range cfg.Transformations {
		if r.Transformations == nil {
			r.Transformations = map[corev1.ResourceName]Transformation{}
		}
		r.Transformations[t.Input] = Transformation{
			Replace: t.Strategy != nil && *t.Strategy == config.Replace, MultiplyBy: t.MultiplyBy, Outputs: t.Outputs,
		}
	}
	return r
}

// filterResources is the list without the resources that are excluded.
func (r *Rules) filterResources(list corev1.ResourceList) corev1.ResourceList {
	out := make(corev1.ResourceList, len(list))
	for name, q := range list {
		if name != corev1.ResourcePods && !r.excludes(name) {
			out[name] = q
		}
	}
	return out
}

func (r *Rules) excludes(name corev1.ResourceName) bool {
	for _, prefix := range r.ExcludePrefixes {
		if strings.HasPrefix(string(name), prefix) {
			return true
		}
	}
	return false
}

func (r *Rules) findTransformation(list corev1.ResourceList) bool {
	for name := range list {
		if _, ok := r.Transformations[name]; ok {
			return true
		}
	}
	return false
}

// transform computes exactly and rounds up once, at the end. An output that is negative counts as none.
func (r *Rules) transform(list corev1.ResourceList) amount.Vector {
	sums := map[corev1.ResourceName]*big.Rat{}
	add := func(name corev1.ResourceName, x *big.Rat) {
		if sums[name] == nil {
			sums[name] = new(big.Rat)
		}
		sums[name].Add(sums[name], x)
	}
	for name, q := range list {
		t, found := r.Transformations[name]
		if !found || !t.Replace {
			add(name, rational(q))
		}
		for output, each := range t.Outputs {
			if x := t.computeOutputs(list, q, each); x.Sign() >= 0 {
				add(output, x)
			}
		}
	}
	requests := make([]amount.Request, 0, len(sums))
	for name, x := range sums {
		requests = append(requests, amount.Request{Resource: string(name), Amount: roundToAmount(string(name), x)})
	}
	return withoutPods(amount.NewVector(requests...))
}

// computeOutputs is so much of an output for the quantity of the input.
func (t *Transformation) computeOutputs(list corev1.ResourceList, input, each apiresource.Quantity) *big.Rat {
	x := rational(input)
	x.Mul(x, rational(each))
	if by, requested := list[t.MultiplyBy]; requested && t.MultiplyBy != "" {
		x.Mul(x, rational(by))
	}
	return x
}
