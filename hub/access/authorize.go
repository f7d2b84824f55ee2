package access

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// decisionTTL is how long the hub's answer about a caller is remembered: so long a right that was taken away may still be used.
	decisionTTL = 10 * time.Second
	// reviewBackoff is how long the first pause after a failed SubjectAccessReview is; there are two more.
	reviewBackoff = 500 * time.Millisecond
)

// NewAuthorizer returns one that asks the hub's API server, by SubjectAccessReviews.
func NewAuthorizer(client authorizationclient.AuthorizationV1Interface) (authorizer.Authorizer, error) {
	asking, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client, AllowCacheTTL: decisionTTL, DenyCacheTTL: decisionTTL,
		WebhookRetryBackoff: &wait.Backoff{Duration: reviewBackoff, Factor: 1.5, Jitter: 0.2, Steps: 3},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("make the authorizer: %w", err)
	}
	return asking, nil
}

// attributesOf are what a request needs on the hub, in the words of the core API.
func attributesOf(r request, who user.Info) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: who, Verb: r.verb, Namespace: r.namespace, Name: r.name, ResourceRequest: true,
		APIGroup: r.resource.Group, APIVersion: r.resource.Version, Resource: r.resource.Resource, Subresource: r.subresource,
	}
}

// authorize returns nil if the hub lets the caller do what is asked for: a Forbidden otherwise, in the API server's own words.
func (h *Handler) authorize(ctx context.Context, r request, who user.Info) error {
	attributes := attributesOf(r, who)
	decision, reason, err := h.authorizer.Authorize(ctx, attributes)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("ask the hub's API server for the caller's rights: %w", err))
	}
	denied := responsewriters.ForbiddenStatusError(attributes, reason)
	denied.ErrStatus.Message += ": it takes the right to do that on the hub"
	return denied
}

// review answers a SelfSubjectAccessReview for what is served here; what is not served is not allowed.
func (h *Handler) review(ctx context.Context, a authorizer.AttributesRecord) (bool, string, error) {
	resource := schema.GroupVersionResource{Group: a.APIGroup, Version: a.APIVersion, Resource: a.Resource}
	if resource.Version == "" || resource.Version == "*" {
		resource.Version = h.servedVersion(resource.GroupResource())
	}
	if !a.ResourceRequest || a.Namespace == "" || !isServed(resource, h.kinds) {
		return false, servedHint, nil
	}
	decision, reason, err := h.authorizer.Authorize(ctx, a)
	if err != nil && decision != authorizer.DecisionAllow {
		return false, "", err
	}
	return decision == authorizer.DecisionAllow, reason, nil
}
