package jobkind

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// right is what the program needs to do with jobs of a kind.
type right struct{ verb, subresource string }

// neededRights are those for a kind, as the built-in kinds have them.
func neededRights(dispatched bool) []right {
	rights := []right{{"get", ""}, {"list", ""}, {"watch", ""}, {"patch", ""}, {"delete", ""}, {"update", "finalizers"}}
	if dispatched {
		rights = append(rights, right{"patch", "status"})
	}
	return rights
}

// missingRights asks the API server what the program may do with jobs of a kind, and returns in words what it may not; empty if nothing
// is missing.
func missingRights(ctx context.Context, c client.Client, mapping *meta.RESTMapping, rights []right) (string, error) {
	var missing []string
	for _, r := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
				Verb: r.verb, Subresource: r.subresource,
			},
		}}
		if err := c.Create(ctx, review); err != nil {
			return "", fmt.Errorf("ask for the right to %s %s: %w", r.verb, mapping.Resource.GroupResource(), err)
		}
		if review.Status.Allowed {
			continue
		}
		what := mapping.Resource.Resource
		if r.subresource != "" {
			what += "/" + r.subresource
		}
		missing = append(missing, r.verb+" "+what)
	}
	if len(missing) == 0 {
		return "", nil
	}
	const text = "The program may not do this in API group %q: %s. Grant it by a ClusterRole with the label %s"
	return fmt.Sprintf(text, mapping.Resource.Group, strings.Join(missing, ", "), aggregation), nil
}

// aggregation is the label of ClusterRoles that are added to the program's own.
const aggregation = `switchyard.dev/aggregate-to-program: "true"`
