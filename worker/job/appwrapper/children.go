package appwrapper

import (
	awv1 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/worker/job"
)

// covers holds for an object that has kind and name of a component with pods, and as far as can be told no more pods than that, which need no
// more than those. Names are unique, so no more can be run under an AppWrapper's admission than was admitted.
func covers(aw *awv1.AppWrapper, child client.Object) bool {
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return false
	}
	object := &unstructured.Unstructured{Object: made}
	for i := range aw.Spec.Components {
		wrapped, err := decode(aw.Spec.Components[i].Template.Raw)
		if err != nil || wrapped.GroupVersionKind() != object.GroupVersionKind() || componentName(aw, i, wrapped) != object.GetName() {
			continue
		}
		groups, err := componentGroups(aw, i, wrapped)
		return err == nil && len(groups) > 0 && asksAtMost(object, wrapped, groups)
	}
	return false
}

// componentName is the name of the object that is made for a component. If the API server chooses it, it is in the status.
func componentName(aw *awv1.AppWrapper, i int, wrapped *unstructured.Unstructured) string {
	if wrapped.GetName() == "" && i < len(aw.Status.ComponentStatus) {
		return aw.Status.ComponentStatus[i].Name
	}
	return wrapped.GetName()
}

// asksAtMost compares the pods of an object with those of the component that it was made for. Of a kind that is not known, the groups that were
// declared are all that can be compared, and their numbers cannot.
func asksAtMost(object, wrapped *unstructured.Unstructured, groups []group) bool {
	asked, err := knownGroups(object)
	if err != nil {
		return false
	}
	for _, g := range asked {
		if paid := findGroup(groups, g.path); paid == nil || g.count > paid.count {
			return false
		}
	}
	for _, g := range groups {
		child, err := podSpec(object, g.path)
		if err != nil {
			continue // it has no such pods
		}
		if owner, err := podSpec(wrapped, g.path); err != nil || !job.RequestsAtMost(child, owner) {
			return false
		}
	}
	return true
}
