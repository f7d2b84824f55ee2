package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

var _ = Describe("A hub that knows its worker by a ClusterProfile, and takes its quota over", func() {
	It("connects once CRD, profile and credentials are there, and runs a Job there", func(ctx SpecContext) {
		worker := serverAddress(ctx, w1)
		says := filepath.Join(GinkgoT().TempDir(), "credential.json")
		configuration := runAlone(map[string]any{"clusterProfile": map[string]any{"accessProviders": []any{map[string]any{
			"name": "file", "execConfig": map[string]any{
				"apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": []any{says},
			},
		}}}})
		configuration["featureGates"] = map[string]any{"MultiKueueClusterProfile": true, "MultiKueueManagerQuotaAutomation": true}
		otherHub{name: "hub-profiles", configuration: configuration}.takeOver(ctx)

		By("forgetting the worker as the suite knows it: one cluster under two names would be two owners of what is there")
		unregister(ctx, w1)

		By("saying that there is no such profile, before there is even a CRD")
		cluster := &kueue.MultiKueueCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "known-by-profile"},
			Spec: kueue.MultiKueueClusterSpec{ClusterSource: kueue.ClusterSource{
				ClusterProfileRef: &kueue.ClusterProfileReference{Name: "first"},
			}},
		}
		Expect(hub.Create(ctx, cluster)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(hub.Delete(ctx, cluster))).To(Succeed()) })
		Eventually(connected).WithContext(ctx).WithArguments(cluster.Name).Should(Equal(
			`False BadClusterProfile load client config failed: clusterprofiles.multicluster.x-k8s.io "first" not found`))

		By("following profiles once the CRD is there, and trying without credentials")
		Expect(hub.InstallCRDs(ctx, []*apiextensionsv1.CustomResourceDefinition{profileCRD(ctx)})).To(Succeed())
		inventoryClient := profileClient()
		profile := &inventory.ClusterProfile{
			ObjectMeta: metav1.ObjectMeta{Namespace: installation.Namespace, Name: "first"},
			Spec:       inventory.ClusterProfileSpec{ClusterManager: inventory.ClusterManager{Name: "test"}},
		}
		Expect(inventoryClient.Create(ctx, profile)).To(Succeed())
		profile.Status.Conditions = []metav1.Condition{}
		profile.Status.AccessProviders = []inventory.AccessProvider{{Name: "file", Cluster: clientcmdv1.Cluster{
			Server: worker.Host, CertificateAuthorityData: worker.CAData,
		}}}
		Expect(inventoryClient.Status().Update(ctx, profile)).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments(cluster.Name).Should(And(
			HavePrefix("False ClientConnectionFailed"), ContainSubstring("credential plugin cat: exit status 1")))

		By("connecting when the plugin has something to say")
		credential, err := json.Marshal(map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": map[string]any{"token": worker.BearerToken},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(says, credential, 0o600)).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments(cluster.Name).Should(Equal("True Active Connected"))

		By("taking the quota of the worker over")
		for _, object := range installation.MultiKueueCheck("by-profile", cluster.Name) {
			if config, ok := object.(*kueue.MultiKueueConfig); ok {
				config.Spec.QuotaManagement = kueue.QuotaManagementAutomated
			}
			Expect(hub.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, object)).To(Succeed()) })
		}
		t := newTeam(ctx, 4)
		changeQueue(ctx, hub, t, func(q *kueue.ClusterQueueSpec) {
			q.AdmissionChecksStrategy.AdmissionChecks[0].Name = "by-profile"
			q.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota.Set(0)
		})
		Eventually(func() (int64, error) {
			queue := &kueue.ClusterQueue{}
			err := hub.Get(ctx, client.ObjectKey{Name: t.name}, queue)
			if err != nil {
				return 0, err
			}
			quota := queue.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota
			return quota.Value(), nil
		}).WithContext(ctx).Should(Equal(int64(4)))
		Eventually(func() (string, error) {
			queue := &kueue.ClusterQueue{}
			err := hub.Get(ctx, client.ObjectKey{Name: t.name}, queue)
			return condition(queue.Status.Conditions, kueue.ClusterQueueMultiKueueManagerQuotaAutomation), err
		}).WithContext(ctx).Should(HavePrefix("True QuotaAutomated"))

		job := t.job("train", 4, "1s")
		expectCompleteOn(ctx, cluster.Name, job)
		expectNothingLeft(ctx, t)

		By("disconnecting when the profile goes")
		Expect(inventoryClient.Delete(ctx, profile)).To(Succeed())
		Eventually(connected).WithContext(ctx).WithArguments(cluster.Name).Should(HavePrefix("False BadClusterProfile"))
		Expect(hub.Delete(ctx, cluster)).To(Succeed())
	}, SpecTimeout(3*1e11))
})

// serverAddress is how the hub's account reaches a worker.
func serverAddress(ctx SpecContext, w *installation.Site) *rest.Config {
	GinkgoHelper()
	kubeconfig, err := installation.WorkerAccess(ctx, w.Cluster)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	return config
}

// profileCRD is that of the cluster inventory, as its module has it.
func profileCRD(ctx SpecContext) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	find := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-inventory-api")
	find.Dir = root
	dir, err := find.Output()
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases", "multicluster.x-k8s.io_clusterprofiles.yaml"))
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.Unmarshal(text, crd)).To(Succeed())
	return crd
}

// profileClient is an administrator's client on the hub that knows ClusterProfiles.
func profileClient() client.Client {
	GinkgoHelper()
	scheme := installation.Scheme()
	Expect(inventory.AddToScheme(scheme)).To(Succeed())
	made, err := client.New(hub.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return made
}
