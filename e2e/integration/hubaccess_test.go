package integration

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// apply makes what is in a file of config/worker on a worker, until the spec ends.
func apply(ctx SpecContext, file string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "worker", file))
	Expect(err).NotTo(HaveOccurred())
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return
		}
		Expect(w1.Create(ctx, o)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(w1.Delete(ctx, o)).To(Succeed()) })
	}
}

// attempt is a job as a hub makes one, that is not to stay.
func attempt(namespace string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "stolen-", Namespace: namespace,
			Labels: map[string]string{kueue.MultiKueueOriginLabel: "somebody"},
		},
		Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}},
		}}},
	}
}

var _ = Describe("Somebody with the token of a hub's account", func() {
	It("can make nothing in a worker's system namespaces", func(ctx SpecContext) {
		kubeconfig, err := installation.WorkerAccess(ctx, w1.Cluster)
		Expect(err).NotTo(HaveOccurred())
		config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		config.RateLimiter, config.WarningHandler = nil, rest.NoWarnings{}
		thief, err := client.New(config, client.Options{Scheme: installation.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		old := attempt(metav1.NamespaceSystem)
		Expect(thief.Create(ctx, old)).To(Succeed(), "without the policy")
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(w1.Delete(ctx, old))).To(Succeed()) })

		apply(ctx, "hubaccess.yaml")
		By("waiting until the API server knows the policy")
		Eventually(func() error { return thief.Create(ctx, attempt(metav1.NamespaceSystem), client.DryRunAll) }).
			WithContext(ctx).WithTimeout(time.Minute).Should(Satisfy(apierrors.IsForbidden))
		for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease", installation.Namespace} {
			err := thief.Create(ctx, attempt(namespace), client.DryRunAll)
			Expect(err).To(MatchError(ContainSubstring("a hub may not dispatch to the system namespace "+namespace)), namespace)
			wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "stolen", Namespace: namespace}}
			Expect(thief.Create(ctx, wl, client.DryRunAll)).To(Satisfy(apierrors.IsForbidden), namespace)
		}
		By("letting it take back what is there, and work elsewhere; and everybody else do as they may")
		Expect(thief.Delete(ctx, old)).To(Succeed())
		Expect(thief.Create(ctx, attempt(metav1.NamespaceDefault), client.DryRunAll)).To(Succeed())
		Expect(w1.Create(ctx, attempt(metav1.NamespaceSystem), client.DryRunAll)).To(Succeed())
	})

	It("gets into no pod of a worker's system namespaces with the account for users", func(ctx SpecContext) {
		kubeconfig, err := w1.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{
			Namespace: installation.Namespace, Name: "switchyard-access", Rules: workeraccess.ViewerRules(workeraccess.LevelExec),
		})
		Expect(err).NotTo(HaveOccurred())
		config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		thief, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		connect := func(namespace, how string) error {
			return thief.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Name("nobody").SubResource(how).
				VersionedParams(&corev1.PodExecOptions{Command: []string{"id"}}, scheme.ParameterCodec).Do(ctx).Error()
		}
		Eventually(connect).WithContext(ctx).WithArguments(metav1.NamespaceSystem, "exec").WithTimeout(time.Minute).
			Should(Satisfy(apierrors.IsNotFound), "without the policy, also if it is gone only now")

		apply(ctx, "hubaccess.yaml")
		By("waiting until the API server knows the policy")
		Eventually(connect).WithContext(ctx).WithArguments(metav1.NamespaceSystem, "exec").WithTimeout(time.Minute).
			Should(MatchError(ContainSubstring("a hub may not get into pods of the system namespace kube-system")))
		for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease", installation.Namespace} {
			for _, how := range []string{"exec", "attach", "portforward"} {
				Expect(connect(namespace, how)).To(Satisfy(apierrors.IsForbidden), "%s in %s", how, namespace)
			}
		}
		By("reading there all the same, and getting into pods elsewhere")
		_, err = thief.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, how := range []string{"exec", "attach", "portforward"} {
			Expect(connect(metav1.NamespaceDefault, how)).To(Satisfy(apierrors.IsNotFound), how)
		}
	})
})
