package admission

import "cmp"

// Key names a namespaced object: a Workload or a LocalQueue.
type Key struct {
	Namespace string
	Name      string
}

// Compare orders keys by namespace, then name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }
