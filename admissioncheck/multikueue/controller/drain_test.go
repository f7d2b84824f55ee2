package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

func TestSelectingWorkloadsOfALongDrainCopiesNone(t *testing.T) {
	had, there := triedWorkloads{}, make([]*kueue.Workload, 2000)
	for i := range there {
		there[i] = &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i)}}
		if i < len(there)-1 {
			had[client.ObjectKeyFromObject(there[i])] = struct{}{}
		}
	}
	copies := testing.AllocsPerRun(3, func() {
		if first, still := had.selectNext(there); first != there[len(there)-1] || len(still) != len(had) {
			t.Errorf("%s is next, %d had their turn", first.Name, len(still))
		}
	})
	if copies > float64(len(there))/10 {
		t.Errorf("%v allocations to look through %d workloads", copies, len(there))
	}
}
