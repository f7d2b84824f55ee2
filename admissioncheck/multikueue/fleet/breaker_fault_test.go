package fleet

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"switchyard.dev/admissioncheck/multikueue/mirror"
)

func TestWhatIsNoFaultOfTheCluster(t *testing.T) {
	for name, err := range map[string]error{
		"the hub has no such job":      fmt.Errorf("create the copy of job x: %w", mirror.ErrNoJob),
		"the cluster has no such kind": fmt.Errorf("create x: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}),
		"the cluster refuses":          apierrors.NewForbidden(schema.GroupResource{}, "x", nil),
		"somebody else has changed it": apierrors.NewConflict(schema.GroupResource{}, "x", nil),
		"what was to be done was done": nil,
	} {
		if isFault(err) || isUnreachable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.New("connection refused"); !isFault(err) || !isUnreachable(err) {
		t.Error("no connection is no fault")
	}
}
