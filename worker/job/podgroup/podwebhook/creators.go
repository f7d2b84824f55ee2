package podwebhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"switchyard.dev/worker/job/podgroup/podmeta"
)

const (
	// maxAnswers bounds what is remembered of who controls what, and answerLifetime for how long.
	maxAnswers     = 1024
	answerLifetime = time.Minute
	// podUIDExtra is what kube-apiserver says of a request made with the token of a pod: which pod.
	podUIDExtra = "authentication.kubernetes.io/pod-uid"
)

// creators knows for which objects those who create pods may speak. Whoever may write the status of an object is its controller: an
// operator may, a tenant who merely names the object as an owner may not.
type creators struct {
	client  client.Client
	answers *cache.LRUExpireCache
}

func newCreators(c client.Client) *creators {
	return &creators{client: c, answers: cache.NewLRUExpireCache(maxAnswers)}
}

// controls tells whether whoever sent the request that is being handled may speak for the owner. For a pod that is the pod itself, as
// a driver makes its executors.
func (c *creators) controls(ctx context.Context, owner *metav1.OwnerReference, namespace string) (bool, error) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return false, fmt.Errorf("find out who creates the pod: %w", err)
	}
	gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	if gvk == podmeta.GVK() {
		return slices.Contains(req.UserInfo.Extra[podUIDExtra], string(owner.UID)), nil
	}
	key := strings.Join(append([]string{gvk.String(), namespace, req.UserInfo.Username}, req.UserInfo.Groups...), "\n")
	if answer, found := c.answers.Get(key); found {
		return answer == true, nil
	}
	allowed, err := c.mayUpdateStatus(ctx, &req.UserInfo, gvk, namespace)
	if err == nil {
		c.answers.Add(key, allowed, answerLifetime)
	}
	return allowed, err
}

// mayUpdateStatus asks kube-apiserver whether a user may write the status of all objects of a kind in a namespace.
func (c *creators) mayUpdateStatus(ctx context.Context, user *authenticationv1.UserInfo, gvk schema.GroupVersionKind, namespace string) (bool, error) {
	mapping, err := c.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "update", Group: gvk.Group, Version: gvk.Version,
			Resource: mapping.Resource.Resource, Subresource: "status",
		},
	}}
	if err := c.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s controls %s: %w", user.Username, mapping.Resource.Resource, err)
	}
	return review.Status.Allowed, nil
}
