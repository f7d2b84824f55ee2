package clusters_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"switchyard.dev/e2e/clusters"
)

func TestAJobSetIsDefaultedByItsWebhookAndCompletes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := jobset.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(shared.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	one := newJob("", 1, map[string]string{clusters.RunForAnnotation: "100ms"}).Spec
	set := &jobset.JobSet{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{
		{Name: "leader", Replicas: 1}, {Name: "workers", Replicas: 2},
	}}}
	set.Namespace, set.Name = "default", "set"
	for i := range set.Spec.ReplicatedJobs {
		set.Spec.ReplicatedJobs[i].Template.Spec = one
	}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if set.Spec.SuccessPolicy == nil {
		t.Error("the JobSet has no success policy: its webhook was not asked")
	}
	eventually(t, "the JobSet is complete", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if set.Status.TerminalState != string(jobset.JobSetCompleted) {
			return fmt.Errorf("status %+v", set.Status)
		}
		return nil
	})
}
