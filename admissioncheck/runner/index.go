package runner

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// indexName is the name of the cache's index that finds Workloads by check and state. Each controller has its own, since a
// cache takes no index twice.
func indexName(controller string) string { return "admissioncheck.state." + controller }

// indexValue is what Workloads with an entry of that check in that state are found under.
func indexValue(check string, state kueue.CheckState) string { return check + "/" + string(state) }

// Index adds the runner's index for a controller to a cache.
func Index(ctx context.Context, indexer client.FieldIndexer, controller string) error {
	if err := indexer.IndexField(ctx, &kueue.Workload{}, indexName(controller), stateIndexValues); err != nil {
		return fmt.Errorf("index Workloads by the states of their checks: %w", err)
	}
	return nil
}

// stateIndexValues has a value for each open or passed entry of a Workload that a check has a say about.
func stateIndexValues(o client.Object) []string {
	wl, ok := o.(*kueue.Workload)
	if !ok || !needsCheck(wl) {
		return nil
	}
	var values []string
	for _, entry := range wl.Status.AdmissionChecks {
		if entry.State == kueue.CheckStatePending || entry.State == kueue.CheckStateReady {
			values = append(values, indexValue(string(entry.Name), entry.State))
		}
	}
	return values
}

// listCheckNames lists the names of a controller's AdmissionChecks, sorted.
func listCheckNames(ctx context.Context, c client.Reader, controller string) ([]string, error) {
	list := &kueue.AdmissionCheckList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list AdmissionChecks: %w", err)
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].Spec.ControllerName == controller {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
