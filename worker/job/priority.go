package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// priority is what orders a Workload, and the class that it comes from, if any.
type priority struct {
	value int32
	ref   *kueue.PriorityClassRef
}

// workloadPriorityClass reads the class that the job names by label.
func workloadPriorityClass(ctx context.Context, r client.Reader, name string) (priority, error) {
	class := &kueue.WorkloadPriorityClass{}
	if err := r.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return priority{}, classError(kueue.WorkloadPriorityClassKind, name, err)
	}
	return priority{value: class.Value, ref: &kueue.PriorityClassRef{
		Group: kueue.WorkloadPriorityClassGroup, Kind: kueue.WorkloadPriorityClassKind, Name: name,
	}}, nil
}

// podPriorityClass reads the PriorityClass of that name; without a name the global default, if there is one. Of several
// defaults the one with the lowest value counts, as it does for pods.
func podPriorityClass(ctx context.Context, r client.Reader, name string) (priority, error) {
	if name == "" {
		return globalDefault(ctx, r)
	}
	class := &schedulingv1.PriorityClass{}
	if err := r.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return priority{}, classError(kueue.PodPriorityClassKind, name, err)
	}
	return podPriority(class), nil
}

// globalDefault returns the priority of the default PriorityClass: of several, the one with the lowest value, as Kubernetes
// does. Zero if there is none.
func globalDefault(ctx context.Context, r client.Reader) (priority, error) {
	var classes schedulingv1.PriorityClassList
	if err := r.List(ctx, &classes); err != nil {
		return priority{}, fmt.Errorf("list priority classes: %w", err)
	}
	defaults := slices.DeleteFunc(classes.Items, func(c schedulingv1.PriorityClass) bool { return !c.GlobalDefault })
	if len(defaults) == 0 {
		return priority{}, nil
	}
	lowest := slices.MinFunc(defaults, func(a, b schedulingv1.PriorityClass) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return podPriority(&lowest), nil
}

func podPriority(class *schedulingv1.PriorityClass) priority {
	return priority{value: class.Value, ref: &kueue.PriorityClassRef{
		Group: kueue.PodPriorityClassGroup, Kind: kueue.PodPriorityClassKind, Name: class.Name,
	}}
}

// classError tells a class that does not exist, for which the job waits, from a failed read.
func classError(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return &missingClassError{class{kind: kind, name: name}}
	}
	return fmt.Errorf("get %s %q: %w", kind, name, err)
}
