package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	visibility "switchyard.dev/apis/visibility/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/installation"
)

// getRaw is what "kubectl get --raw" does below the group of pending workloads.
func getRaw(ctx context.Context, config *rest.Config, path string) ([]byte, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	answer := c.Discovery().RESTClient().Get().RequestURI("/apis/visibility.kueue.x-k8s.io/" + path).Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// pendingAt lists what waits in a queue at a path: "job position/position in the LocalQueue" each.
func pendingAt(ctx context.Context, config *rest.Config, path string) ([]string, error) {
	data, err := getRaw(ctx, config, path)
	if err != nil {
		return nil, err
	}
	var summary visibility.PendingWorkloadsSummary
	if err := json.Unmarshal(data, &summary); err != nil {
		return nil, err
	}
	var list []string
	for _, w := range summary.Items {
		list = append(list, fmt.Sprintf("%s %d/%d", w.OwnerReferences[0].Name, w.PositionInClusterQueue, w.PositionInLocalQueue))
	}
	return list, nil
}

// accountOf is a connection of a user without rights but these ClusterRoles in a namespace.
func accountOf(ctx context.Context, s *installation.Site, user, namespace string, roles ...string) *rest.Config {
	GinkgoHelper()
	kubeconfig, err := s.UserKubeconfig(user)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, role := range roles {
		Expect(s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user + "-" + role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})).To(Succeed())
	}
	return config
}

var _ = Describe("The API for pending workloads", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		roles, err := config.UserRoles()
		Expect(err).NotTo(HaveOccurred())
		for _, role := range roles {
			if strings.Contains(role.GetName(), "pending-workloads") {
				Expect(client.IgnoreAlreadyExists(hub.Create(ctx, role.DeepCopy()))).To(Succeed())
				Expect(client.IgnoreAlreadyExists(w1.Create(ctx, role.DeepCopy()))).To(Succeed())
			}
		}
		for _, s := range []*installation.Site{hub, w1} {
			Expect(installation.Aggregate(ctx, s.Cluster, s.Program)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(installation.Disaggregate(ctx, s.Cluster, s.Program)).To(Succeed()) })
		}
	})

	It("lists what waits in the order in which it is admitted then", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 4)
		priorities(ctx, w1, t)
		Expect(w1.Create(ctx, t.localQueue("other"))).To(Succeed())
		other := func(job *batchv1.Job) *batchv1.Job { job.Labels[kueue.QueueNameLabel] = "other"; return job }
		jobs := map[string]*batchv1.Job{}
		for _, job := range []*batchv1.Job{
			t.job("first", 4, "1h"), t.job("plain", 4, "1h"), withPriority(other(t.job("high", 4, "1h")), "high"),
			withPriority(t.job("low", 3, "1h"), "low"), withPriority(t.job("higher", 2, "1h"), "high"), other(t.job("last", 3, "1h")),
		} {
			Expect(w1.Create(ctx, job)).To(Succeed())
			jobs[job.Name] = job
			if job.Name == "first" {
				expectRunning(ctx, w1, job)
			} else {
				Eventually(workloadAt).WithContext(ctx).WithArguments(w1, client.Object(job)).ShouldNot(BeNil())
			}
		}
		path := "v1beta2/clusterqueues/" + t.name + "/pendingworkloads"
		Eventually(pendingAt).WithContext(ctx).WithArguments(w1.Config, path).Should(HaveLen(5))
		list, err := pendingAt(ctx, w1.Config, path)
		Expect(err).NotTo(HaveOccurred())
		Expect(list[2]).To(Equal("low 2/1"))
		Expect(pendingAt(ctx, w1.Config, "v1beta1/clusterqueues/"+t.name+"/pendingworkloads")).To(Equal(list))
		Expect(pendingAt(ctx, w1.Config, path+"?offset=1&limit=2")).To(Equal(list[1:3]))
		Expect(pendingAt(ctx, w1.Config, "v1beta2/namespaces/"+t.name+"/localqueues/other/pendingworkloads")).
			To(Equal(slices.DeleteFunc(slices.Clone(list), func(entry string) bool {
				return !strings.HasPrefix(entry, "high ") && !strings.HasPrefix(entry, "last ")
			})))

		running := jobs["first"]
		for _, entry := range list {
			By("removing " + running.Name + ", so that one more is admitted")
			Expect(w1.Delete(ctx, running, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
			name, _, _ := strings.Cut(entry, " ")
			running = jobs[name]
			expectRunning(ctx, w1, running)
			if name == "low" {
				break // those after it may fit beside each other
			}
		}
	})

	It("shows the hub's queues, and says which it does not know", func(ctx SpecContext) {
		t := newTeam(ctx, 0)
		Expect(hub.Create(ctx, t.job("train", 1, "1h"))).To(Succeed())
		By("asking with an unchanged kubectl")
		kubectl := func() (string, error) {
			out, err := exec.CommandContext(ctx, hub.Kubectl(), "--kubeconfig", filepath.Join(hub.Dir, "admin.kubeconfig"), "get", "--raw",
				"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/"+t.name+"/localqueues/"+queueName+"/pendingworkloads?limit=1").CombinedOutput()
			return string(out), err
		}
		Eventually(kubectl).WithContext(ctx).Should(And(ContainSubstring(`"kind":"PendingWorkloadsSummary"`), ContainSubstring(`"name":"train"`)))
		for _, version := range []string{"v1beta1/", "v1beta2/"} {
			Eventually(pendingAt).WithContext(ctx).WithArguments(hub.Config, version+"clusterqueues/"+t.name+"/pendingworkloads").
				Should(Equal([]string{"train 0/0"}))
			for kind, path := range map[string]string{
				"clusterqueue": "clusterqueues/none/pendingworkloads", "localqueue": "namespaces/" + t.name + "/localqueues/none/pendingworkloads",
			} {
				_, err := getRaw(ctx, hub.Config, version+path)
				Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
				Expect(err).To(MatchError(kind + `.visibility.kueue.x-k8s.io "none" not found`))
			}
		}
	})

	It("shows people the queues of their namespaces only", func(ctx SpecContext) {
		t, other := newTeamAt(ctx, w1, 0), newTeamAt(ctx, w1, 0)
		Expect(w1.Create(ctx, t.job("train", 1, "1h"))).To(Succeed())
		const user = "batch-user"
		mine := accountOf(ctx, w1, t.name+"-"+user, t.name, "kueue-pending-workloads-lq-viewer-role")
		path := func(t team) string {
			return "v1beta2/namespaces/" + t.name + "/localqueues/" + queueName + "/pendingworkloads"
		}
		Eventually(pendingAt).WithContext(ctx).WithArguments(mine, path(t)).Should(Equal([]string{"train 0/0"}))
		for _, denied := range []string{path(other), "v1beta2/clusterqueues/" + t.name + "/pendingworkloads", "v1beta1/clusterqueues/" + t.name + "/pendingworkloads"} {
			_, err := getRaw(ctx, mine, denied)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", denied, err)
		}
		_, err := getRaw(ctx, accountOf(ctx, w1, t.name+"-stranger", t.name), path(t))
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})

	It("believes headers about the user only of the API server", func(ctx SpecContext) {
		t := newTeamAt(ctx, w1, 0)
		kubeconfig, err := w1.UserKubeconfig(t.name + "-forger")
		Expect(err).NotTo(HaveOccurred())
		forger, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(forger.CertData, forger.KeyData)
		Expect(err).NotTo(HaveOccurred())
		url := fmt.Sprintf("https://127.0.0.1:%d/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/%s/pendingworkloads", w1.Program.APIPort, t.name)
		for status, certificates := range map[int][]tls.Certificate{http.StatusUnauthorized: nil, http.StatusForbidden: {certificate}} {
			direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
			DeferCleanup(direct.CloseIdleConnections)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			Expect(err).NotTo(HaveOccurred())
			request.Header.Set("X-Remote-User", "admin")
			request.Header.Set("X-Remote-Group", "system:masters")
			response, err := direct.Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(response.Body.Close()).To(Succeed())
			Expect(response.StatusCode).To(Equal(status))
		}
	})
})
