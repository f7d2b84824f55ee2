package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The whole story is in the audit logs: whatever was denied to an account of ours is a right that the chart forgot.
func wasDeniedNothing(ctx SpecContext) {
	for _, c := range []*kindCluster{hub, w1, w2} {
		events, err := c.audit(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, account := range []string{programAccount, hubAccount} {
			if c == hub && account == hubAccount {
				continue
			}
			used, denied := calls(events, account)
			Expect(used).NotTo(BeEmpty(), "%s has done something on %s", account, c.name)
			Expect(denied).To(BeEmpty(), "denied to %s on %s", account, c.name)
			granted, err := rights(ctx, c, account)
			Expect(err).NotTo(HaveOccurred())
			unused := slices.DeleteFunc(slices.Clone(granted), func(right string) bool { return slices.Contains(used, right) })
			logf("rights of %s on %s: %d granted, none missing, %d not used in this run", account, c.name, len(granted), len(unused))
			GinkgoWriter.Printf("not used by %s on %s: %s\n", account, c.name, strings.Join(unused, ", "))
		}
	}
}

// calls are what the account was allowed and what it was denied, as rights.
func calls(events []auditv1.Event, account string) (used, denied []string) {
	for i := range events {
		e := &events[i]
		if e.User.Username != account || e.ObjectRef == nil {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		to := &used
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			to = &denied
		}
		*to = append(*to, right(e.Verb, e.ObjectRef.APIGroup, resource))
	}
	return distinct(used), distinct(denied)
}

// rights are those that bindings of the cluster give to the account.
func rights(ctx context.Context, c *kindCluster, account string) ([]string, error) {
	var clusterBindings rbacv1.ClusterRoleBindingList
	var bindings rbacv1.RoleBindingList
	if err := c.List(ctx, &clusterBindings); err != nil {
		return nil, err
	}
	if err := c.List(ctx, &bindings); err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, b := range clusterBindings.Items {
		if bound(b.Subjects, account) {
			var role rbacv1.ClusterRole
			if err := c.Get(ctx, client.ObjectKey{Name: b.RoleRef.Name}, &role); err != nil {
				return nil, err
			}
			rules = append(rules, role.Rules...)
		}
	}
	for _, b := range bindings.Items {
		if bound(b.Subjects, account) {
			var role rbacv1.Role
			if err := c.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name}, &role); err != nil {
				return nil, err
			}
			rules = append(rules, role.Rules...)
		}
	}
	return flat(rules), nil
}

func bound(subjects []rbacv1.Subject, account string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && "system:serviceaccount:"+s.Namespace+":"+s.Name == account
	})
}

// flat takes rules apart.
func flat(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, right(verb, group, resource))
				}
			}
		}
	}
	return distinct(all)
}

func right(verb, group, resource string) string {
	if group == "" {
		return verb + " " + resource
	}
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}

func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
