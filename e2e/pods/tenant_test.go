package pods

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// tenantClient is that of somebody who may do with pods of the namespace what the role "edit" allows.
func (t team) tenantClient() client.Client {
	t.Helper()
	user := "tenant-" + t.name
	t.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "tenant"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	})
	kubeconfig, err := t.UserKubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: installation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	t.eventually("the tenant's rights", func() error { return c.List(t.T.Context(), &corev1.PodList{}, client.InNamespace(t.name)) })
	return c
}

// forgery is a pod that is made to look like one that needs no quota, or has it.
type forgery struct {
	name string
	pod  func(*corev1.Pod)
}

func forgeries() []forgery {
	annotate := func(pod *corev1.Pod, key, value string) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value) }
	return []forgery{
		{"marked", func(p *corev1.Pod) { p.Labels[kueue.ManagedLabel] = kueue.ManagedLabelValue }},
		{"finalizer", func(p *corev1.Pod) { p.Finalizers = []string{kueue.ManagedFinalizer} }},
		{"parent", func(p *corev1.Pod) { annotate(p, kueue.PodSuspendingParentAnnotation, "statefulset") }},
		{"marked-parent", func(p *corev1.Pod) {
			p.Labels[kueue.ManagedLabel] = kueue.ManagedLabelValue
			annotate(p, kueue.PodSuspendingParentAnnotation, "deployment")
		}},
		{"role", func(p *corev1.Pod) { // of the group that runs, whose pods need less
			p.Labels[kueue.PodGroupNameKey] = "paid"
			annotate(p, kueue.PodGroupTotalCountAnnotation, "1")
			annotate(p, kueue.RoleHashAnnotation, "main")
			p.Spec.Containers[0].Resources.Requests = podSpec("2").Containers[0].Resources.Requests
		}},
		{"prebuilt", func(p *corev1.Pod) { annotate(p, kueue.PrebuiltWorkloadNameKey, "paid") }},
		{"serving", func(p *corev1.Pod) {
			p.Labels[kueue.PodGroupNameKey] = "serving"
			annotate(p, kueue.PodGroupTotalCountAnnotation, "1")
			annotate(p, kueue.PodGroupServingAnnotation, "true")
			annotate(p, kueue.PodGroupFastAdmissionAnnotation, "true")
		}},
		{"origin", func(p *corev1.Pod) { p.Labels[kueue.MultiKueueOriginLabel] = "hub" }},
	}
}

// tenant tries to run pods while all quota is used.
func tenant(t team) {
	c := t.tenantClient()
	t.create(t.member("paid", "paid", "2", "1"))
	t.expectStates("1 Running")
	forged := forgeries()
	for _, f := range forged {
		pod := t.pod("forged-"+f.name, "1")
		f.pod(pod)
		if err := c.Create(t.T.Context(), pod); err != nil {
			t.Logf("%s: refused: %v", f.name, err)
		}
	}
	t.expectNoneRuns("forged-")

	// One that takes the gates off his pod himself loses it.
	pod := t.pod("ungated", "1")
	if err := c.Create(t.T.Context(), pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	pod.Spec.SchedulingGates = nil
	if err := c.Patch(t.T.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	t.expectStates("", "ungated")
	if _, err := t.removeMark(c); err == nil {
		t.Error("the mark of a pod could be taken off")
	}
	t.expectUsageIs2()
}

// removeMark tries to take the mark off a pod that waits.
func (t team) removeMark(c client.Client) (string, error) {
	pods := t.pods()
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels[kueue.ManagedLabel] != "" && isGated(&p) })
	if i < 0 {
		return "", fmt.Errorf("no pod of %d waits", len(pods))
	}
	before := pods[i].DeepCopy()
	delete(pods[i].Labels, kueue.ManagedLabel)
	err := c.Patch(t.T.Context(), &pods[i], client.MergeFrom(before))
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		t.Errorf("the mark: %v", err)
	}
	return before.Name, err
}

// expectNoneRuns watches for pods that run, longer than the program takes to let one go.
func (t team) expectNoneRuns(prefix string) {
	t.Helper()
	// The program has looked at all pods before once it runs a pod that came later.
	deadline := time.After(3 * time.Second)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, pod := range t.pods() {
			if len(pod.Name) > len(prefix) && pod.Name[:len(prefix)] == prefix && pod.Spec.NodeName != "" {
				t.Fatalf("pod %s: %v\n%s", pod.Name, errRuns, t.held())
			}
		}
		select {
		case <-deadline:
			return
		case <-tick.C:
		}
	}
}

// expectUsageIs2 waits until the queue says that no more than the quota is used.
func (t team) expectUsageIs2() {
	t.Helper()
	t.eventually("usage", func() error {
		queue := &kueue.ClusterQueue{}
		if err := t.Get(t.T.Context(), client.ObjectKey{Name: t.name}, queue); err != nil {
			return err
		}
		if used := queue.Status.FlavorsUsage[0].Resources[0].Total; used.Value() != 2 || queue.Status.ReservingWorkloads != 1 {
			return fmt.Errorf("%s CPUs of %d workloads", used.String(), queue.Status.ReservingWorkloads)
		}
		return nil
	})
}
