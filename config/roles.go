package config

import (
	"bytes"
	"embed"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed rbac/*.yaml
var roleFiles embed.FS

// Roles are what a program, "hub" or "worker", may do in its own cluster: a ClusterRole, and a Role in its namespace. They
// are generated from the markers beside the code that makes the calls.
func Roles(program string) (*rbacv1.ClusterRole, *rbacv1.Role, error) {
	file := "rbac/" + program + "_role.yaml"
	data, err := roleFiles.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("roles of %s: %w", program, err)
	}
	cluster, own := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	documents := bytes.Split(bytes.TrimPrefix(data, []byte("---\n")), []byte("\n---\n"))
	if len(documents) != 2 {
		return nil, nil, fmt.Errorf("%s has %d documents, want a ClusterRole and a Role", file, len(documents))
	}
	for i, into := range []any{cluster, own} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			return nil, nil, fmt.Errorf("decoding %s: %w", file, err)
		}
	}
	return cluster, own, nil
}
