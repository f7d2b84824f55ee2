package fleet

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Webhooks of a worker refuse with 403, as missing rights do, or with 422, as a schema does. An object of an epoch that is over
// comes back by the same way. None of them says anything of the cluster.
func TestARefusalOfAnActionIsOneWhateverItsCode(t *testing.T) {
	webhook := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	webhook.ErrStatus.Message = `admission webhook "vjob.kb.io" denied the request: metadata.annotations[switchyard.dev/epoch]: Forbidden: epoch 2 is over`
	for name, refusal := range map[string]error{
		"a webhook":      webhook,
		"a schema":       apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "a", nil),
		"missing rights": apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("no")),
	} {
		err := fmt.Errorf("create the copy of job ns/a: %w", refusal)
		if isFault(err) || isUnreachable(err) || !isDefiniteRefusal(err) {
			t.Errorf("%s: fault %t, unreachable %t, definite %t", name, isFault(err), isUnreachable(err), isDefiniteRefusal(err))
		}
	}
}
