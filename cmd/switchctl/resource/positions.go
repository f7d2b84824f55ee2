package resource

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// readPositions are those of the pending workloads in their ClusterQueues, by namespace/name. Who may not see a ClusterQueue may see
// LocalQueues. A hub that does not serve either leaves the column empty.
func readPositions(ctx context.Context, a *cli.App, hub *kubeclient.Client, workloads []kueue.Workload, queues show.Queues) map[string]int {
	found, denied := map[string]int{}, map[string]bool{}
	asked := map[string]bool{}
	ask := func(path []string) error {
		if key := strings.Join(path, "/"); !asked[key] {
			asked[key] = true
			raw, err := a.PendingWorkloads(ctx, hub, path...)
			if err != nil {
				return err
			}
			maps.Copy(found, parsePending(raw))
		}
		return nil
	}
	for i := range workloads {
		wl := &workloads[i]
		queue := queues.ClusterQueueFor(wl)
		if queue == "" || show.WorkloadStatus(wl) != show.Pending {
			continue
		}
		var err error
		if !denied[queue] {
			err = ask(kubeclient.PendingInClusterQueue(queue))
			denied[queue] = apierrors.IsForbidden(err)
		}
		if denied[queue] {
			err = ask(kubeclient.PendingInLocalQueue(wl.Namespace, string(wl.Spec.QueueName)))
		}
		if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return nil
		}
	}
	return found
}

// parsePending reads an answer of the visibility API; nothing if it cannot be read. Positions count from 0.
func parsePending(raw []byte) map[string]int {
	var summary struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
			Position int `json:"positionInClusterQueue"`
		} `json:"items"`
	}
	found := map[string]int{}
	if err := json.Unmarshal(raw, &summary); err != nil {
		return found
	}
	for _, item := range summary.Items {
		found[item.Metadata.Namespace+"/"+item.Metadata.Name] = item.Position
	}
	return found
}
