package installation

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
)

// userOf is the name by which a program's API server knows it.
func userOf(program string) string { return "switchyard-" + program }

// Users are the names under which clusters know the programs: each beside its own cluster, and the hub on its workers.
func Users() []string {
	return []string{userOf("hub"), userOf("worker"), "system:serviceaccount:" + Namespace + ":" + HubAccount}
}

// grant gives a program's user what the generated roles give the program, and nothing more: a right that is missing there
// is missed here.
func grant(ctx context.Context, c *clusters.Cluster, program string) error {
	all, own, err := config.Roles(program)
	if err != nil {
		return err
	}
	own.Namespace = Namespace
	administrator, err := Client(c)
	if err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(program)}}
	for _, object := range []client.Object{
		all, own,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: all.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: all.Name},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: own.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "visibility-server-auth-reader"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		},
	} {
		if err := administrator.Create(ctx, object); err != nil {
			return fmt.Errorf("rights of the %s on %s: %w", program, c.Name, err)
		}
	}
	return nil
}
