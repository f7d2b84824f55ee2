// Package jobkinds proves on a real API server what fakes cannot show of configured kinds of job: that their CRD takes declarations, and that
// informers, indexes and webhooks come and go while the program runs.
package jobkinds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/worker"
	"switchyard.dev/worker/controller/jobkind"
	"switchyard.dev/worker/job"
)

// site is a cluster with a manager that serves configured kinds.
type site struct {
	*clusters.Cluster
	t     *testing.T
	api   client.Client
	kinds *jobkind.Kinds
}

func start(t *testing.T) *site {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output()), zap.UseDevMode(true)))
	c, err := clusters.Start(t.Context(), clusters.Options{Name: "jobkinds"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		crd.Spec.Conversion = nil // nobody serves it here
	}
	if err := c.InstallCRDs(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	scheme, err := worker.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(c.Config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Cluster: c, t: t, kinds: jobkind.New(jobkind.Options{Jobs: job.Options{Gates: job.DefaultGates(), Clock: clock.RealClock{}}, Clock: clock.RealClock{}})}
	if s.api, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := s.kinds.SetupControllers(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
	return s
}

// read decodes a sample.
func (s *site) read(file string, into any) {
	s.t.Helper()
	readSample(s.t, file, into)
}

// eventually waits until check finds nothing missing.
func (s *site) eventually(what string, check func() error) {
	s.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%s: %v", what, last)
	}
}

func (s *site) expectCondition(name, condition, want string) {
	s.t.Helper()
	s.eventually(condition+" of "+name, func() error {
		var declared switchyard.JobKind
		if err := s.api.Get(s.t.Context(), client.ObjectKey{Name: name}, &declared); err != nil {
			return err
		}
		c := meta.FindStatusCondition(declared.Status.Conditions, condition)
		if c == nil || string(c.Status)+" "+c.Reason != want {
			return fmt.Errorf("it is %+v, want %s", c, want)
		}
		return nil
	})
}

func (s *site) create(obj client.Object) {
	s.t.Helper()
	if err := s.api.Create(s.t.Context(), obj); err != nil {
		s.t.Fatal(err)
	}
}

// run is a TrainingRun.
func run(name string) *unstructured.Unstructured {
	pod := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "a"}}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ml.example.com/v1", "kind": "TrainingRun",
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": map[string]any{kueue.QueueNameLabel: "main"}},
		"spec":     map[string]any{"suspend": true, "coordinator": pod, "workers": map[string]any{"replicas": int64(3), "template": pod}},
	}}
}

func (s *site) workloads() []kueue.Workload {
	s.t.Helper()
	var list kueue.WorkloadList
	if err := s.api.List(s.t.Context(), &list, client.InNamespace("default")); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

func (s *site) expectWorkloadOf(name string) {
	s.t.Helper()
	s.eventually("workload of "+name, func() error {
		for _, wl := range s.workloads() {
			if len(wl.OwnerReferences) == 1 && wl.OwnerReferences[0].Name == name && len(wl.Spec.PodSets) == 2 && wl.Spec.PodSets[1].Count == 3 {
				return nil
			}
		}
		return errors.New("there is none with its pod sets")
	})
}

func TestAKindIsServedStoppedAndServedAgainWhileTheProgramRuns(t *testing.T) {
	s := start(t)
	declared, crd := &switchyard.JobKind{}, &apiextensionsv1.CustomResourceDefinition{}
	s.read("trainingrun.yaml", declared)
	s.read("trainingrun.crd.yaml", crd)
	s.create(declared.DeepCopy())
	s.expectCondition(declared.Name, "Accepted", "True Sound")
	s.expectCondition(declared.Name, "Serving", "False CRDMissing")
	if err := s.InstallCRDs(t.Context(), []*apiextensionsv1.CustomResourceDefinition{crd}); err != nil {
		t.Fatal(err)
	}
	s.expectCondition(declared.Name, "Serving", "True Started")
	s.create(run("first"))
	s.expectWorkloadOf("first")

	if err := s.api.Delete(t.Context(), declared.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	s.eventually("the end of its service", func() error {
		if s.kinds.Serves(run("x").GroupVersionKind().GroupKind()) {
			return errors.New("it is served")
		}
		return nil
	})
	s.create(run("second"))
	before := len(s.workloads())

	s.create(declared.DeepCopy())
	s.expectCondition(declared.Name, "Serving", "True Started")
	s.expectWorkloadOf("second")
	if before != 1 {
		t.Errorf("while the kind was not served there were %d workloads", before)
	}

	var now switchyard.JobKind
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(declared), &now); err != nil {
		t.Fatal(err)
	}
	now.Spec.Progress.Active = "object.status.active >"
	if err := s.api.Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	s.expectCondition(declared.Name, "Accepted", "False Invalid")
}

func TestAJobThatHasGoneWithItsCRDGivesItsQuotaBack(t *testing.T) {
	s := start(t)
	declared, crd := &switchyard.JobKind{}, &apiextensionsv1.CustomResourceDefinition{}
	s.read("trainingrun.yaml", declared)
	s.read("trainingrun.crd.yaml", crd)
	if err := s.InstallCRDs(t.Context(), []*apiextensionsv1.CustomResourceDefinition{crd}); err != nil {
		t.Fatal(err)
	}
	s.create(declared)
	s.expectCondition(declared.Name, "Serving", "True Started")
	s.create(run("lost"))
	s.expectWorkloadOf("lost")
	if err := s.RemoveCRDs(t.Context(), []*apiextensionsv1.CustomResourceDefinition{crd}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the end of the lost job's workload", func() error {
		list := s.workloads()
		if len(list) != 1 {
			return fmt.Errorf("there are %d", len(list))
		}
		if c := meta.FindStatusCondition(list[0].Status.Conditions, kueue.WorkloadFinished); c == nil || c.Reason != string(kueue.ReasonOwnerNotFound) {
			return fmt.Errorf("it is not finished so: %+v", c)
		}
		return nil
	})
}

func TestEverySampleIsTakenByTheAPIServerAndWrongOnesAreNot(t *testing.T) {
	s := start(t)
	for _, file := range []string{"jobset.yaml", "pipelinerun.yaml", "workflow.yaml", "trainingrun.yaml"} {
		declared := &switchyard.JobKind{}
		s.read(file, declared)
		s.create(declared)
		s.expectCondition(declared.Name, "Accepted", "True Sound")
		if file != "jobset.yaml" {
			continue
		}
		other := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"kind": "Other"}}`))
		if err := s.api.Patch(t.Context(), declared, other); err == nil || !strings.Contains(err.Error(), "immutable") {
			t.Errorf("its kind is changed: %v", err)
		}
	}
	for name, change := range map[string]func(*switchyard.JobKindSpec){
		"no pod sets":                func(spec *switchyard.JobKindSpec) { spec.PodSets = nil },
		"a pod set without template": func(spec *switchyard.JobKindSpec) { spec.PodSets[0].Template = "" },
		"a path that is none":        func(spec *switchyard.JobKindSpec) { spec.PodSets[0].Template = "spec..a" },
	} {
		declared := &switchyard.JobKind{}
		s.read("trainingrun.yaml", declared)
		declared.Name = "wrong"
		change(&declared.Spec)
		if err := s.api.Create(t.Context(), declared); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}
