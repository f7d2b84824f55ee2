package kinds

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/job/all"
)

// stage is a hub and two workers with different operators: each lacks the CRDs of the other's kinds.
type stage struct {
	hub, training, ray *installation.Site
}

func start(t *testing.T) *stage {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output())))
	root, err := clusters.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	nodes := []clusters.NodePool{{Name: "gpu", Count: 2, GPUClass: "H100", GPUs: 32}}
	training := []clusters.Operator{clusters.Trainer, clusters.TrainingOperator, clusters.MPIOperator}
	ray := []clusters.Operator{clusters.KubeRay, clusters.AppWrapper, clusters.SparkOperator}
	started, err := installation.StartStage(t.Context(), installation.StageOptions{
		Hub:           clusters.Options{Name: "hub", Controllers: true, OperatorCRDs: append([]clusters.Operator{clusters.JobSet, clusters.KubeRay}, training...)},
		Workers:       []clusters.Options{{Name: "training", Nodes: nodes, Operators: training}, {Name: "ray", Nodes: nodes, Operators: ray}},
		Programs:      filepath.Join(root, "bin"),
		Kinds:         installation.MirrorableKinds(),
		Configuration: configuration(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range started.Sites() {
				t.Logf("--- %s\n%s", s.Name, s.Program.LogTail())
			}
		}
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{hub: started.Hub, training: started.Workers[0], ray: started.Workers[1]}
	s.makeQueues(t)
	if err := installation.CopyTrainingRuntimes(t.Context(), s.hub, s.training); err != nil {
		t.Fatal(err)
	}
	return s
}

// configuration enables every kind.
func configuration() map[string]any {
	return map[string]any{
		"integrations": installation.Frameworks(all.Kinds()),
		"featureGates": map[string]any{"SparkApplicationIntegration": true},
		"multiKueue":   map[string]any{"gcInterval": "2s"},
	}
}

// makeQueues makes the samples' queue with room for everything, which dispatches at the hub.
func (s *stage) makeQueues(t *testing.T) {
	t.Helper()
	objects := append(installation.MultiKueueCheck("workers", s.training.Name, s.ray.Name), queueObjects("workers")...)
	create(t, s.hub, objects...)
	for _, worker := range []*installation.Site{s.training, s.ray} {
		create(t, worker, queueObjects()...)
	}
}

func queueObjects(checks ...kueue.AdmissionCheckReference) []client.Object {
	clusterQueue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: kueue.ClusterQueueSpec{
		NamespaceSelector: &metav1.LabelSelector{}, ResourceGroups: []kueue.ResourceGroup{roomForAll()},
	}}
	for _, check := range checks {
		clusterQueue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: check}}}
	}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "any"}},
		clusterQueue,
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: queue}, Spec: kueue.LocalQueueSpec{ClusterQueue: namespace}},
	}
}

func roomForAll() kueue.ResourceGroup {
	flavor := kueue.FlavorQuotas{Name: "any"}
	covered := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, clusters.GPUResource}
	for _, name := range covered {
		flavor.Resources = append(flavor.Resources, kueue.ResourceQuota{Name: name, NominalQuota: resource.MustParse("1000G")})
	}
	return kueue.ResourceGroup{CoveredResources: covered, Flavors: []kueue.FlavorQuotas{flavor}}
}
