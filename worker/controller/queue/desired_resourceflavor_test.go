package queue

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestTheFinalizerGoesWhenTheFlavorIsDeletedAndUnused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		deleted bool
		users   []string
		kept    bool
	}{
		{"in use", false, []string{"cq"}, true},
		{"unused", false, nil, true},
		{"deleted but in use", true, []string{"cq"}, true},
		{"deleted and unused", true, nil, false},
	} {
		rf := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"other", kueue.ResourceInUseFinalizer}}}
		if tc.deleted {
			rf.DeletionTimestamp = ptr.To(metav1.NewTime(time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)))
		}
		got := desiredFlavor(rf, tc.users).Finalizers
		if slices.Contains(got, kueue.ResourceInUseFinalizer) != tc.kept || !slices.Contains(got, "other") {
			t.Errorf("%s: finalizers are %v", tc.name, got)
		}
	}
}
