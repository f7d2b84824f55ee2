package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

var _ = Describe("An external dispatcher that applies its choice under its own name", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		otherHub{name: "hub-applied", configuration: runAlone(map[string]any{"dispatcherName": "example.com/by-hand"})}.takeOver(ctx)
	})

	It("is obeyed without the policy that clears it, at the cost of a refused write", func(ctx SpecContext) {
		Expect(refusedStatusWrites(appliedChoice(ctx))).NotTo(BeZero())
	})

	It("is obeyed with that policy, which costs none", func(ctx SpecContext) {
		installPolicy(ctx, "../../config/policy/clear_nominated_cluster_names.yaml")
		Expect(refusedStatusWrites(appliedChoice(ctx))).To(BeZero())
	})
})

// appliedChoice has a job run on w2 because a dispatcher has applied that, and returns its Workload's key.
func appliedChoice(ctx context.Context) types.NamespacedName {
	GinkgoHelper()
	t := newTeam(ctx, 8)
	job := t.job("train", 1, "100ms")
	Expect(hub.Create(ctx, job)).To(Succeed())
	Eventually(workloadCondition).WithContext(ctx).WithArguments(client.Object(job), kueue.WorkloadQuotaReserved).
		Should(HavePrefix("True"))
	wl, err := workloadOf(ctx, job)
	Expect(err).NotTo(HaveOccurred())
	Expect(applyStatus(ctx, wl, "by-hand", map[string]any{"nominatedClusterNames": []any{"w2"}})).To(Succeed())
	expectComplete(ctx, job)
	Expect(clusterOf(ctx, job)).To(Equal("w2"))
	expectNothingLeft(ctx, t)
	return client.ObjectKeyFromObject(wl)
}

func applyStatus(ctx context.Context, wl *kueue.Workload, manager string, status map[string]any, o ...client.SubResourcePatchOption) error {
	part := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kueue.GroupVersion.String(), "kind": "Workload",
		"metadata": map[string]any{"name": wl.Name, "namespace": wl.Namespace}, "status": status,
	}}
	data, err := part.MarshalJSON()
	if err != nil {
		return err
	}
	return hub.Status().Patch(ctx, part, client.RawPatch(types.ApplyPatchType, data), append(o, client.FieldOwner(manager))...)
}

// refusedStatusWrites counts the writes of a Workload's status that the hub's API server found invalid.
func refusedStatusWrites(key types.NamespacedName) (count int) {
	GinkgoHelper()
	for _, event := range auditEvents(hub) {
		ref := event.ObjectRef
		if ref.Resource == "workloads" && ref.Subresource == "status" && ref.Namespace == key.Namespace && ref.Name == key.Name &&
			event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusUnprocessableEntity {
			count++
		}
	}
	return count
}

// installPolicy puts a policy of a file on the hub until the spec ends, and waits until the API server goes by it.
func installPolicy(ctx context.Context, file string) {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, object)).To(Succeed()) })
	}
	probe := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: newTeam(ctx, 8).name},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}}}},
	}
	Expect(hub.Create(ctx, probe)).To(Succeed())
	Eventually(func() error { // the hub takes nominations back from a Workload without quota
		nominate := applyStatus(ctx, probe, "by-hand", map[string]any{"nominatedClusterNames": []any{"w2"}})
		return errors.Join(nominate, applyStatus(ctx, probe, "probe", map[string]any{"clusterName": "w2"}, client.DryRunAll))
	}).WithContext(ctx).Should(Succeed())
	Expect(hub.Delete(ctx, probe)).To(Succeed())
}
