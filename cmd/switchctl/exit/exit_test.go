package exit

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A webhook refuses with the code of missing rights, and no rights would help.
func TestARefusalOfAnObjectIsNoLackOfRights(t *testing.T) {
	rights := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("User \"ann\" cannot create"))
	webhook := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	webhook.ErrStatus.Message = `admission webhook "vjob.kb.io" denied the request: metadata.labels[x]: Invalid value: "Q": no`
	policy := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a",
		errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"))
	for _, c := range []struct {
		err     error
		code    int
		advised bool
	}{{rights, Denied, true}, {webhook, Failed, false}, {policy, Failed, false}} {
		err := fmt.Errorf("create it: %w", c.err)
		if code, said := Code(err), AdviceFor(err); code != c.code || (said != "") != c.advised {
			t.Errorf("%v: exit code %d, advice %q", err, code, said)
		}
	}
}
