package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts/status,verbs=patch

// SetupCohorts adds the controller that writes the share of Cohorts, gathered, under fair sharing (contract: kueue-api.md 1.5), and
// drops the metrics of cohorts that are gone, those included that never had an object.
func SetupCohorts(mgr ctrl.Manager, p Config) error {
	return newCohortReconciler(p).Setup(mgr, "cohort")
}

// newCohortReconciler returns the writer of Cohort statuses.
func newCohortReconciler(p Config) *StatusReconciler[*kueue.Cohort] {
	return &StatusReconciler[*kueue.Cohort]{Config: p, Kind: KindHandler[*kueue.Cohort]{
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
