package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
)

// viewer is the account by which a hub shows its users their Jobs and JobSets on a worker.
func viewer(level workeraccess.Level) workeraccess.Viewer {
	return workeraccess.Viewer{
		Namespace: Namespace, ServiceAccount: "switchyard-access", Level: level,
		Jobs: []workeraccess.JobResource{{Group: "batch", Resource: "jobs"}, {Group: "jobset.x-k8s.io", Resource: "jobsets"}},
	}
}

// GrantAccess lets the hub show its users their jobs on a worker, as "cluster register --access" does. An address, if not empty, is where
// the hub finds the worker's API server.
func GrantAccess(ctx context.Context, hub, worker *clusters.Cluster, level workeraccess.Level, address string) error {
	v := viewer(level)
	kubeconfig, err := worker.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{
		Namespace: v.Namespace, Name: v.ServiceAccount, Rules: workeraccess.ViewerRules(level, v.Jobs...),
	})
	if err == nil && address != "" {
		kubeconfig, err = clusters.ThroughProxy(kubeconfig, address)
	}
	if err != nil {
		return err
	}
	administrator, err := Client(hub)
	if err != nil {
		return err
	}
	if err := administrator.Create(ctx, accessSecret(worker, level, kubeconfig)); err != nil {
		return fmt.Errorf("access of %s to %s: %w", hub.Name, worker.Name, err)
	}
	return nil
}

// RevokeAccess undoes GrantAccess.
func RevokeAccess(ctx context.Context, hub, worker *clusters.Cluster) error {
	atHub, err := Client(hub)
	if err != nil {
		return err
	}
	atWorker, err := Client(worker)
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(atHub.Delete(ctx, accessSecret(worker, "", nil))); err != nil {
		return fmt.Errorf("access of %s to %s: %w", hub.Name, worker.Name, err)
	}
	for _, object := range viewer(workeraccess.LevelLogs).Objects() {
		if err := client.IgnoreNotFound(atWorker.Delete(ctx, object)); err != nil {
			return fmt.Errorf("rights of %s on %s: %w", hub.Name, worker.Name, err)
		}
	}
	return nil
}

func accessSecret(worker *clusters.Cluster, level workeraccess.Level, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: workeraccess.ViewerSecretName(worker.Name),
			Labels: map[string]string{workeraccess.LevelLabel: string(level)},
		},
		Data: map[string][]byte{kueue.MultiKueueConfigSecretKey: kubeconfig},
	}
}
