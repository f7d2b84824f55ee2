package cohort

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/controller/queuestatus"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts/status,verbs=patch

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, p queuestatus.Config) error {
	return newReconciler(p).Setup(mgr, "cohort")
}

func newReconciler(p queuestatus.Config) *queuestatus.Reconciler[*kueue.Cohort] {
	return &queuestatus.Reconciler[*kueue.Cohort]{Config: p, Kind: queuestatus.KindHandler[*kueue.Cohort]{
		Name:   "Cohort",
		New:    func() *kueue.Cohort { return &kueue.Cohort{} },
		Source: p.View.CohortRequests(),
		Desired: func(c *kueue.Cohort, _ time.Time) (*kueue.Cohort, bool) {
			standing, known := p.View.CohortStatus(c.Name)
			is := c.DeepCopy()
			is.Status.FairSharing = p.FairSharingStatus(func() quota.Share { return standing.Share })
			return is, known
		},
		IsUrgent: func(_, _ *kueue.Cohort) bool { return false },
		OnDeleted: func(name types.NamespacedName) {
			if _, named := p.View.CohortStatus(name.Name); !named {
				p.Metrics.DeleteCohort(name.Name)
			}
		},
	}}
}
