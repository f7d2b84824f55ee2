package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// applyObject makes an object be there with what it says, and returns what that took: created, configured or unchanged. What
// others have put into the object beside that stays.
func applyObject(ctx context.Context, c client.Client, wanted client.Object) (string, error) {
	name := wanted.GetObjectKind().GroupVersionKind().Kind + " " + wanted.GetName()
	found, ok := wanted.DeepCopyObject().(client.Object)
	if !ok {
		return "", fmt.Errorf("%T is no object", wanted)
	}
	err := c.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if apierrors.IsNotFound(err) {
		if err := c.Create(ctx, wanted); err != nil {
			return "", fmt.Errorf("create %s: %w", name, err)
		}
		return "created", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	before, _ := found.DeepCopyObject().(client.Object)
	if err := mergeWanted(wanted, found); err != nil {
		return "", err
	}
	if equality.Semantic.DeepEqual(before, found) {
		return "unchanged", nil
	}
	if err := c.Update(ctx, found); err != nil {
		return "", fmt.Errorf("update %s: %w", name, err)
	}
	return "configured", nil
}

// mergeWanted puts into an object that was found what is wanted of it.
func mergeWanted(wanted, found client.Object) error {
	switch to := found.(type) {
	case *rbacv1.ClusterRole:
		if from, ok := wanted.(*rbacv1.ClusterRole); ok {
			to.Rules = from.Rules
		}
	case *rbacv1.Role:
		if from, ok := wanted.(*rbacv1.Role); ok {
			to.Rules = from.Rules
		}
	case *rbacv1.ClusterRoleBinding:
		from, ok := wanted.(*rbacv1.ClusterRoleBinding)
		if !ok || from.RoleRef != to.RoleRef {
			return fmt.Errorf("ClusterRoleBinding %s leads to another role, which cannot be changed: delete it, or choose another --account", to.Name)
		}
		to.Subjects = from.Subjects
	case *rbacv1.RoleBinding:
		from, ok := wanted.(*rbacv1.RoleBinding)
		if !ok || from.RoleRef != to.RoleRef {
			return fmt.Errorf("RoleBinding %s/%s leads to another role, which cannot be changed: delete it, or choose another --account", to.Namespace, to.Name)
		}
		to.Subjects = from.Subjects
	case *corev1.Secret:
		if from, ok := wanted.(*corev1.Secret); ok {
			to.Data = from.Data
			mergeMarks(from, to)
		}
	case *kueue.MultiKueueCluster:
		if from, ok := wanted.(*kueue.MultiKueueCluster); ok {
			to.Spec = from.Spec
		}
	}
	return nil
}

// mergeMarks puts onto a Secret the labels and annotations that are wanted, and takes off those of ours that are not.
func mergeMarks(from, to *corev1.Secret) {
	for key, value := range from.Labels {
		metav1.SetMetaDataLabel(&to.ObjectMeta, key, value)
	}
	for key, value := range from.Annotations {
		metav1.SetMetaDataAnnotation(&to.ObjectMeta, key, value)
	}
	if _, wanted := from.Annotations[workeraccess.NamespacesAnnotation]; !wanted {
		delete(to.Annotations, workeraccess.NamespacesAnnotation)
	}
}
