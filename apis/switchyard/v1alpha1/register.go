package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds of this package.
const GroupName = "switchyard.dev"

// GroupVersion names the group and version under which the kinds are registered.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// SchemeBuilder collects the registration of all kinds of this version.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers all kinds of this version in a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CapacityReport{}, &CapacityReportList{}, &JobKind{}, &JobKindList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
