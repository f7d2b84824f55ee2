package view

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var baseTime = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

func timeAt(seconds int) time.Time { return baseTime.Add(time.Duration(seconds) * time.Second) }

// testQueue is a ClusterQueue that takes workloads of every namespace and has that much gpu of each flavor.
func testQueue(name, gpu string, flavors ...string) *kueue.ClusterQueue {
	cq := &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       kueue.ClusterQueueSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
	group := kueue.ResourceGroup{CoveredResources: []corev1.ResourceName{"gpu"}}
	for _, f := range flavors {
		group.Flavors = append(group.Flavors, kueue.FlavorQuotas{
			Name:      kueue.ResourceFlavorReference(f),
			Resources: []kueue.ResourceQuota{{Name: "gpu", NominalQuota: resource.MustParse(gpu)}},
		})
	}
	cq.Spec.ResourceGroups = []kueue.ResourceGroup{group}
	return cq
}

func testLocalQueue(name, queue string) *kueue.LocalQueue {
	return &kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(queue)},
	}
}

func testFlavor(name string) *kueue.ResourceFlavor {
	return &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func testNamespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: labels}}
}

func testCheck(name, controller string, active bool) *kueue.AdmissionCheck {
	ac := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ac.Spec.ControllerName = controller
	setCondition(&ac.Status.Conditions, kueue.AdmissionCheckActive, active, "Active", baseTime)
	return ac
}

// testWorkload asks for gpus in the LocalQueue lq, in one pod for each.
func testWorkload(name string, gpus int32, version int) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version),
			CreationTimestamp: metav1.NewTime(baseTime),
		},
		Spec: kueue.WorkloadSpec{
			QueueName: "lq",
			PodSets: []kueue.PodSet{{
				Name: "main", Count: gpus,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"gpu": resource.MustParse("1")}},
				}}}},
			}},
		},
	}
}

// setReservation makes the status say that the workload holds its gpus of a flavor.
func setReservation(wl *kueue.Workload, queue, flavor string) *kueue.Workload {
	count := wl.Spec.PodSets[0].Count
	wl.Status.Admission = &kueue.Admission{
		ClusterQueue: kueue.ClusterQueueReference(queue),
		PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "main", Count: ptr.To(count),
			Flavors:       map[corev1.ResourceName]kueue.ResourceFlavorReference{"gpu": kueue.ResourceFlavorReference(flavor)},
			ResourceUsage: corev1.ResourceList{"gpu": *resource.NewQuantity(int64(count), resource.DecimalSI)},
		}},
	}
	setCondition(&wl.Status.Conditions, kueue.WorkloadQuotaReserved, true, "QuotaReserved", baseTime)
	return wl
}

func setCondition(list *[]metav1.Condition, kind string, status bool, reason string, since time.Time) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(since)}
	if status {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(list, c)
}

// setObjects tells the view about objects, as informers would.
func setObjects(v *View, objects ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, o := range objects {
		switch o := o.(type) {
		case *kueue.ClusterQueue:
			v.setClusterQueue(o)
		case *kueue.LocalQueue:
			v.setLocalQueue(o)
		case *kueue.Cohort:
			v.setCohort(o)
		case *kueue.ResourceFlavor:
			v.setFlavor(o)
		case *kueue.AdmissionCheck:
			v.setCheck(o)
		case *kueue.Topology:
			v.setTopology(o)
		case *corev1.Namespace:
			v.setNamespace(o)
		case *corev1.LimitRange:
			v.setLimitRange(o)
		case *nodev1.RuntimeClass:
			v.setRuntimeClass(o)
		case *kueue.Workload:
			v.setWorkload(o)
		default:
			panic(fmt.Sprintf("no informer for %T", o))
		}
	}
}

// deleteObject tells the view that an object is gone.
func deleteObject(v *View, object any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch o := object.(type) {
	case *kueue.ClusterQueue:
		v.deleteClusterQueue(o)
	case *kueue.LocalQueue:
		v.deleteLocalQueue(o)
	case *kueue.Cohort:
		v.deleteCohort(o)
	case *kueue.ResourceFlavor:
		v.deleteFlavor(o)
	case *kueue.AdmissionCheck:
		v.deleteCheck(o)
	case *kueue.Topology:
		v.deleteTopology(o)
	case *corev1.Namespace:
		v.deleteNamespace(o)
	case *corev1.LimitRange:
		v.deleteLimitRange(o)
	case *nodev1.RuntimeClass:
		v.deleteRuntimeClass(o)
	case *kueue.Workload:
		v.deleteWorkload(o)
	default:
		panic(fmt.Sprintf("no informer for %T", o))
	}
}

// newBasicView is a view with ClusterQueue cq (4 gpus of flavor red) behind LocalQueue lq.
func newBasicView() *View {
	v := New(Options{})
	setObjects(v, testNamespace(nil), testFlavor("red"), testQueue("cq", "4", "red"), testLocalQueue("lq", "cq"))
	return v
}
