package integration

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listNames lists the names of a list's items.
func listNames(list client.ObjectList) ([]string, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("items of %T: %w", list, err)
	}
	var names []string
	for _, item := range items {
		accessor, err := meta.Accessor(item)
		if err != nil {
			return nil, fmt.Errorf("item of %T: %w", list, err)
		}
		names = append(names, accessor.GetName())
	}
	return names, nil
}
