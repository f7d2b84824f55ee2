package controller

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestACallCountsUnlessItSurelyHasNotOpenedThePreemptionGate(t *testing.T) {
	resource := schema.GroupResource{Resource: "workloads"}
	for name, c := range map[string]struct {
		err   error
		opens bool
	}{
		"it succeeds":            {nil, true},
		"nobody knows":           {errors.New("connection reset"), true},
		"the server has trouble": {apierrors.NewInternalError(errors.New("no")), true},
		"it is refused":          {apierrors.NewForbidden(resource, "w", errors.New("no")), false},
		"somebody was faster":    {apierrors.NewConflict(resource, "w", errors.New("no")), false},
	} {
		if got := isDefiniteRefusal(c.err); got == c.opens {
			t.Errorf("%s: refused for sure: %t", name, got)
		}
	}
}
