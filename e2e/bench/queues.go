package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// team is the namespace of every load, and its flavor.
const team = "bench"

// objects are the namespace, the flavor and the queues of the load.
func (l load) objects() []client.Object {
	list := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team}},
	}
	for cohort := range l.cohorts {
		for queue := range l.queues {
			name := queueName(cohort, queue)
			of := contended
			if l.isMixed() {
				of = countingPods
			}
			list = append(list, of(name, fmt.Sprintf("c%d", cohort)), &kueue.LocalQueue{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
				Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(name)},
			})
		}
	}
	return list
}

// contended is a queue that takes back what it has lent and lets the more important go first.
func contended(name, cohort string) *kueue.ClusterQueue {
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			CohortName:        kueue.CohortReference(cohort),
			Preemption: &kueue.ClusterQueuePreemption{
				ReclaimWithinCohort: kueue.PreemptionPolicyAny, WithinClusterQueue: kueue.PreemptionPolicyLowerPriority,
			},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{corev1.ResourceCPU},
				Flavors: []kueue.FlavorQuotas{{Name: team, Resources: []kueue.ResourceQuota{{
					Name:           corev1.ResourceCPU,
					NominalQuota:   *resource.NewQuantity(nominal, resource.DecimalSI),
					BorrowingLimit: ptr.To(*resource.NewQuantity(borrowing, resource.DecimalSI)),
				}}}},
			}},
		},
	}
}
