package bench

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

var (
	benchLoads      = flag.String("bench-loads", "", "which loads to admit, comma-separated: baseline, large, mix; none skips the benchmark")
	benchScale      = flag.Float64("bench-scale", 1, "the fraction of each load's Workloads")
	benchController = flag.String("bench-controller", "",
		"command line of another controller to measure too; $KUBECONFIG, $CERT_DIR and $WEBHOOK_PORT are replaced")
	benchManifests = flag.String("bench-crds", "", "directory with the other controller's CRDs and webhook configurations")
	benchPrograms  = flag.String("bench-programs", "", "directory with Switchyard's programs, instead of bin/ of the source tree")
	benchBare      = flag.Bool("bench-bare", false, "measure Switchyard's worker without webhooks, too")
	benchFloor     = flag.Bool("bench-floor", false, "measure what no controller can be faster than, too")
	benchProfile   = flag.String("bench-pprof", "", "address at which Switchyard's worker serves profiles")
)

// TestAdmissionBench admits Workloads that contend for quota, on a control plane of this machine, and reports what that
// took.
func TestAdmissionBench(t *testing.T) {
	if *benchLoads == "" {
		t.Skip("give -bench-loads (make bench does)")
	}
	ctrl.SetLogger(logr.Discard())
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	programs := cmp.Or(*benchPrograms, filepath.Join(root, "bin"))
	for name := range strings.SplitSeq(*benchLoads, ",") {
		l, err := loadNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		l = l.scaled(*benchScale)
		results, err := measureAll(t.Context(), newControllers(t, root, l), func(ctx context.Context, c controllerSpec) (result, error) {
			return measure(ctx, c, l, programs)
		})
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
		if len(results) == 0 {
			continue
		}
		t.Logf("%s: %d Workloads in %d queues, %s of work for the quota", l.name, l.workloads(), l.cohorts*l.queues, l.ideal())
		if err := printResults(os.Stdout, l, *benchScale == 1, results); err != nil {
			t.Fatal(err)
		}
	}
}

// newControllers are Switchyard's worker and, if there is one, the other controller.
func newControllers(t *testing.T, root string, l load) []controllerSpec {
	t.Helper()
	ours := controllerSpec{name: "switchyard", configuration: map[string]any{}}
	if *benchProfile != "" {
		ours.configuration["pprofBindAddress"] = *benchProfile
	}
	if l.isMixed() {
		ours.configuration["integrations"] = installation.Frameworks(integrations(l.kinds()))
		if *benchBare || *benchFloor || *benchController != "" {
			t.Logf("%s is measured with Switchyard's worker and its webhooks alone", l.name)
		}
		return []controllerSpec{ours}
	}
	list := []controllerSpec{ours}
	if *benchBare {
		bare := ours
		bare.name, bare.bare = "without webhooks", true
		list = append(list, bare)
	}
	if *benchFloor {
		list = append(list, controllerSpec{name: "the floor", floor: &l})
	}
	if *benchController != "" {
		manifests := cmp.Or(*benchManifests, filepath.Join(root, "config", "crd", "bases"))
		list = append(list, controllerSpec{name: filepath.Base(strings.Fields(*benchController)[0]), command: *benchController, manifests: manifests})
	}
	return list
}
