package cohort

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/quota"
	"switchyard.dev/worker/controller/figures"
)

// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts,verbs=list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=cohorts/status,verbs=patch

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, p figures.Parts) error { return newReconciler(p).Setup(mgr, "cohort") }

func newReconciler(p figures.Parts) *figures.Reconciler[*kueue.Cohort] {
	return &figures.Reconciler[*kueue.Cohort]{Parts: p, Kind: figures.Kind[*kueue.Cohort]{
		Name:    "Cohort",
		New:     func() *kueue.Cohort { return &kueue.Cohort{} },
		Changed: p.View.Cohorts(),
		Step: func(c *kueue.Cohort, _ time.Time) (*kueue.Cohort, bool) {
			standing, known := p.View.Cohort(c.Name)
			is := c.DeepCopy()
			is.Status.FairSharing = p.ShareOf(func() quota.Share { return standing.Share })
			return is, known
		},
		Urgent: func(_, _ *kueue.Cohort) bool { return false },
		Gone: func(name types.NamespacedName) {
			if _, named := p.View.Cohort(name.Name); !named {
				p.Metrics.DropCohort(name.Name)
			}
		},
	}}
}
