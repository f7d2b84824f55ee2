package quotafit

import (
	"slices"

	"switchyard.dev/worker/admission/amount"
)

// Quota is one ResourceQuota.
type Quota struct {
	Name string
	// Scopes must all match a pod for the quota to apply to it.
	Scopes []Scope
	// Hard are the limits; Used what counts against them. A resource of Hard that Used does not have is one whose use the
	// cluster has not counted yet.
	Hard, Used amount.Vector
}

// ScopeName is what a scope looks at.
type ScopeName string

// The scopes of the core API.
const (
	Terminating            ScopeName = "Terminating"
	NotTerminating         ScopeName = "NotTerminating"
	BestEffort             ScopeName = "BestEffort"
	NotBestEffort          ScopeName = "NotBestEffort"
	PriorityClass          ScopeName = "PriorityClass"
	CrossNamespaceAffinity ScopeName = "CrossNamespacePodAffinity"
)

// Operator relates a scope to values; scopes other than PriorityClass know Exists only.
type Operator string

// The operators of the core API.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// Scope narrows a quota to some pods.
type Scope struct {
	Name     ScopeName
	Operator Operator
	Values   []string
}

func (q Quota) appliesTo(p Pods) bool {
	return !slices.ContainsFunc(q.Scopes, func(s Scope) bool { return !s.matches(p) })
}

// matches follows the API server. A scope that is not known matches nothing: the quota is then not ours to judge, and the
// API server still enforces it.
func (s Scope) matches(p Pods) bool {
	switch s.Name {
	case Terminating:
		return p.Terminating
	case NotTerminating:
		return !p.Terminating
	case BestEffort:
		return p.BestEffort
	case NotBestEffort:
		return !p.BestEffort
	case CrossNamespaceAffinity:
		return p.CrossNamespaceAffinity
	case PriorityClass:
		return s.matchesClass(p.PriorityClass)
	default:
		return false
	}
}

func (s Scope) matchesClass(class string) bool {
	switch s.Operator {
	case In:
		return class != "" && slices.Contains(s.Values, class)
	case NotIn:
		return class == "" || !slices.Contains(s.Values, class)
	case Exists:
		return class != ""
	case DoesNotExist:
		return class == ""
	default:
		return false
	}
}

// leavesUndeclared tells whether the pods say nothing about a resource that a quota restricts.
func (p Pods) leavesUndeclared(resource string) bool {
	_, found := slices.BinarySearch(p.Undeclared, resource)
	return found
}
