package kinds

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/job"
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
		Kinds:         mirrorable(),
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
	s.copyRuntimes(t)
	return s
}

// mirrorable are the kinds that a hub can dispatch.
func mirrorable() []job.Integration {
	var kinds []job.Integration
	for _, kind := range all.Kinds() {
		if kind.Mirrorable() {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// configuration enables every kind.
func configuration() map[string]any {
	var names []any
	for _, kind := range all.Kinds() {
		names = append(names, kind.Name())
	}
	return map[string]any{
		"integrations": map[string]any{"frameworks": names},
		"featureGates": map[string]any{"SparkApplicationIntegration": true},
		"multiKueue":   map[string]any{"gcInterval": "2s"},
	}
}

// makeQueues makes the samples' queue with room for everything: at the hub one that dispatches, at the workers one for what the hub sends and
// one for their own people.
func (s *stage) makeQueues(t *testing.T) {
	t.Helper()
	objects := installation.MultiKueueCheck("workers", s.training.Name, s.ray.Name)
	for _, site := range []*installation.Site{s.hub, s.training, s.ray} {
		clusterQueue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{}, ResourceGroups: []kueue.ResourceGroup{roomForAll()},
		}}
		if site == s.hub {
			clusterQueue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{{Name: "workers"}}}
		}
		for _, object := range append(objects,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "any"}},
			clusterQueue,
			&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: queue}, Spec: kueue.LocalQueueSpec{ClusterQueue: namespace}},
		) {
			if err := site.Create(t.Context(), object); err != nil {
				t.Fatal(fmt.Errorf("%T %s at %s: %w", object, object.GetName(), site.Name, err))
			}
		}
		objects = []client.Object{}
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

// copyRuntimes gives the hub the training runtimes of the worker: it must know what a TrainJob asks for.
func (s *stage) copyRuntimes(t *testing.T) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "ClusterTrainingRuntimeList"})
	if err := s.training.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].SetResourceVersion("")
		if err := s.hub.Create(t.Context(), &list.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
}
