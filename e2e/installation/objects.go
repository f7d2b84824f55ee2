package installation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// MultiKueueCheck is an AdmissionCheck of that name which dispatches to the clusters, with its MultiKueueConfig.
func MultiKueueCheck(name string, clusters ...string) []client.Object {
	return []client.Object{
		&kueue.MultiKueueConfig{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       kueue.MultiKueueConfigSpec{Clusters: clusters},
		},
		&kueue.AdmissionCheck{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.AdmissionCheckSpec{
				ControllerName: kueue.MultiKueueControllerName,
				Parameters: &kueue.AdmissionCheckParametersReference{
					APIGroup: kueue.GroupVersion.Group, Kind: "MultiKueueConfig", Name: name,
				},
			},
		},
	}
}
