package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/guide"
	"switchyard.dev/e2e/installation"
)

// switchctlSession is the shell of an administrator of the hub, which is the current context, and of the workers.
type switchctlSession struct {
	guide.Shell
	// typed are the command lines.
	typed []string
}

func newSwitchctlSession() *switchctlSession {
	GinkgoHelper()
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	shell, err := guide.CommandEnv{
		Contexts: map[string]*clusters.Cluster{"hub": hub.Cluster, "w1": w1.Cluster, "w2": w2.Cluster}, Current: "hub",
		Programs: map[string]string{"kubectl": hub.Kubectl(), "switchctl": filepath.Join(root, "bin", "switchctl")},
	}.Setup(GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	shell.Env = append(shell.Env, "KUBE_EDITOR=true") // an editor that leaves everything as it is
	return &switchctlSession{Shell: shell}
}

// types runs switchctl, which must end with that code, and returns what it prints, the errors apart.
func (t *switchctlSession) types(ctx context.Context, code int, args ...string) (out, errs string) {
	GinkgoHelper()
	out, errs, ended := t.run(ctx, args...)
	Expect(ended).To(Equal(code), "switchctl %s\n%s%s", strings.Join(args, " "), out, errs)
	return out, errs
}

// run runs switchctl and returns what it prints, the errors apart, and its exit code.
func (t *switchctlSession) run(ctx context.Context, args ...string) (out, errs string, code int) {
	GinkgoHelper()
	line := "switchctl " + strings.Join(args, " ")
	t.typed = append(t.typed, line)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	program := exec.CommandContext(ctx, filepath.Join(filepath.Dir(t.Dir), "bin", "switchctl"), args...)
	program.Dir, program.Env, program.Stdout, program.Stderr = t.Dir, t.Env, &stdout, &stderr
	err := program.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred(), line)
	}
	return stdout.String(), stderr.String(), program.ProcessState.ExitCode()
}

// expectPrinted runs switchctl, which must end well, and returns what it prints.
func (t *switchctlSession) expectPrinted(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, _ := t.types(ctx, 0, args...)
	return out
}

// expectOutput runs switchctl, however that ends, and returns what it prints.
func (t *switchctlSession) expectOutput(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, _, _ := t.run(ctx, args...)
	return out
}

// expectFailure runs switchctl, which must end with that code, and returns its error.
func (t *switchctlSession) expectFailure(ctx context.Context, code int, args ...string) string {
	GinkgoHelper()
	_, errs := t.types(ctx, code, args...)
	return errs
}

// object is what switchctl prints as JSON or YAML.
func object[T any](text string) T {
	GinkgoHelper()
	var into T
	Expect(yaml.UnmarshalStrict([]byte(text), &into)).To(Succeed(), text)
	return into
}

// list is what switchctl prints of several objects.
type list[T any] struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Items      []T            `json:"items"`
}

// What the guides do not do with switchctl, on the stage that all have in common.
var _ = Describe("switchctl", Ordered, ContinueOnFailure, func() {
	var at *switchctlSession
	const name = "typed"

	BeforeAll(func() { at = newSwitchctlSession() })

	for _, where := range []string{"hub", "w1"} {
		It("creates, shows, changes and deletes queues and flavors at "+where, func(ctx SpecContext) {
			at.makesQueues(ctx, where, name)
			at.showsQueues(ctx, where, name)
			at.changesQueues(ctx, where, name)
		})
	}

	It("shows worker clusters, and takes somebody's word that one is gone", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { removeAnnotation(ctx, w2, switchyard.GoneAnnotation) })
		Eventually(func() string { return at.expectPrinted(ctx, "cluster", "list") }).WithContext(ctx).Should(MatchRegexp(`(?m)^w2 +True +Ready `))
		Expect(at.expectPrinted(ctx, "get", "multikueuecluster", "w2", "w1", "-o", "name")).To(Equal(
			"multikueuecluster.kueue.x-k8s.io/w2\nmultikueuecluster.kueue.x-k8s.io/w1\n"))
		Expect(at.expectFailure(ctx, 2, "cluster", "gone", "w2")).To(ContainSubstring("nothing was changed: confirm, or pass --yes"))
		said := object[kueue.MultiKueueCluster](at.expectPrinted(ctx, "cluster", "gone", "w2", "--yes", "--dry-run=server", "-o", "yaml"))
		Expect(said.Annotations).To(HaveKeyWithValue(switchyard.GoneAnnotation, "true"))
		Expect(at.expectPrinted(ctx, "cluster", "list")).NotTo(ContainSubstring("Gone"), "a dry run changes nothing")
		Expect(at.expectPrinted(ctx, "cluster", "gone", "w2", "--yes")).To(Equal("multikueuecluster.kueue.x-k8s.io/w2 declared gone\n"))
		Expect(at.expectPrinted(ctx, "get", "multikueuecluster", "w2", "-o", "wide")).To(MatchRegexp(`(?m)^w2 +\S+ +Gone `))
		Expect(at.expectPrinted(ctx, "cluster", "uncordon", "w2")).To(Equal("multikueuecluster.kueue.x-k8s.io/w2 uncordoned\n"))
		Expect(object[list[kueue.MultiKueueCluster]](at.expectPrinted(ctx, "cluster", "list", "-o", "json")).Items).To(
			HaveEach(HaveField("ObjectMeta.Annotations", Not(HaveKey(switchyard.GoneAnnotation)))))
		Expect(at.expectFailure(ctx, 3, "cluster", "gone", "w9", "--yes")).To(ContainSubstring(`"w9" not found`))
	})

	It("stops a workload where it runs, resumes it, and shows the pods of Jobs and JobSets", func(ctx SpecContext) {
		t := newTeam(ctx, 4)
		in := func(args ...string) []string { return append(args, "--namespace", t.name) }
		job, set := t.job("train", 2, "1h"), t.jobSet("parts", 1, "1h")
		Expect(hub.Create(ctx, job)).To(Succeed())
		Expect(hub.Create(ctx, set)).To(Succeed())
		worker := at.runs(ctx, t, job)

		By("looking at the pods, as somebody who may there, and through a hub that does not show them")
		Expect(at.expectPrinted(ctx, in("list", "pods", "--for", "job/train", "--worker-context", worker, "-o", "name")...)).To(
			MatchRegexp(`^pod/train-\w+\n$`))
		Eventually(func() string {
			return at.expectPrinted(ctx, in("list", "pods", "--for", "job/train", "--worker-context", worker, "-o", "wide")...)
		}).WithContext(ctx).Should(MatchRegexp(`(?m)^train-\w+ .* Running .*gpu-`))
		setAt := at.runs(ctx, t, set)
		Eventually(func() string {
			return at.expectPrinted(ctx, in("list", "pods", "--for", "jobset/parts", "--worker-context", setAt, "--no-headers")...)
		}).WithContext(ctx).Should(MatchRegexp(`^(parts-workers-\d-\S+ .* Running .*\n){2}$`))
		Expect(at.expectPrinted(ctx, in("pods", "job/train", "--worker-context", worker, "--no-headers")...)).To(MatchRegexp(`^train-\w+ .* ` + worker + ` *\n`))
		for _, command := range [][]string{
			{"list", "pods", "--for", "job/train"}, {"pods"}, {"logs", "job/train"}, {"logs", "jobset/parts"}, {"exec", "--namespace", t.name, "job/train", "--", "id"},
			{"attach", "job/train"}, {"port-forward", "job/train", "8080"}, {"cp", "job/train:/etc/hostname", "hostname"},
		} {
			Expect(at.expectFailure(ctx, 1, in(command...)...)).To(ContainSubstring("pass --worker-context"), "%v", command)
		}
		kubeconfig, warning := at.types(ctx, 0, in("access", "kubeconfig")...)
		Expect(kubeconfig).To(ContainSubstring("/apis/access.switchyard.dev/v1alpha1/clusters/all/proxy"))
		Expect(warning).To(ContainSubstring("access.enabled=true"))
		Eventually(func() string {
			return at.expectPrinted(ctx, in("events", "jobset/parts", "--worker-context", setAt)...)
		}).WithContext(ctx).
			Should(ContainSubstring("Admitted"))

		By("stopping and resuming it")
		full := strings.TrimSpace(at.expectPrinted(ctx, in("list", "workload", "--for", "job/train", "-o", "name")...))
		_, wl, _ := strings.Cut(full, "/")
		Expect(at.expectPrinted(ctx, in("stop", "workload", wl)...)).To(Equal(full + " stopped\n"))
		Eventually(activePodsAt).WithContext(ctx).WithArguments(at.site(worker), job).Should(BeZero())
		Eventually(clusterOf).WithContext(ctx).WithArguments(client.Object(job)).Should(BeEmpty())
		Expect(object[kueue.Workload](at.expectPrinted(ctx, in("get", "workload", wl, "-o", "json")...)).Spec.Active).To(HaveValue(BeFalse()))
		Eventually(func() string { return at.expectPrinted(ctx, in("explain", "job/train")...) }).WithContext(ctx).Should(
			ContainSubstring("resume workload " + wl))
		Expect(at.expectFailure(ctx, 4, in("logs", "job/train")...)).To(ContainSubstring("explain"))
		Expect(at.expectPrinted(ctx, in("resume", "workload", wl, "-o", "name")...)).To(Equal(full + "\n"))
		Expect(at.runs(ctx, t, job)).To(BeElementOf("w1", "w2"))
		Expect(at.expectPrinted(ctx, in("describe", "workload", wl)...)).To(ContainSubstring(wl))
		Expect(at.expectFailure(ctx, 3, in("stop", "workload", "nobody")...)).To(ContainSubstring(`"nobody" not found`))

		By("deleting both")
		Expect(at.expectFailure(ctx, 2, in("delete", "workload", "--all")...)).To(ContainSubstring("nothing was deleted"))
		Expect(at.expectPrinted(ctx, in("delete", "workload", "--all", "--yes", "-o", "name")...)).To(
			Equal("job.batch/train\njobset.jobset.x-k8s.io/parts\n"))
		expectNothingLeft(ctx, t)
		Eventually(workloadOf).WithContext(ctx).WithArguments(client.Object(job)).Should(BeNil())
		Expect(at.expectFailure(ctx, 3, in("explain", "job/train")...)).To(ContainSubstring(`"train" not found`))
	})

	It("checks how the hub and a worker serve a kind of job that only the configuration names", func(ctx SpecContext) {
		check := func(args ...string) string {
			return at.expectOutput(ctx, append([]string{"cluster", "check", "w1"}, args...)...)
		}
		named := []string{"--external-framework", "Simulation.v1.example.com"}
		Expect(at.expectFailure(ctx, 2, "cluster", "check", "w1", "--external-framework", "Simulation")).To(ContainSubstring("want Kind.version.group"))
		Expect(check(named...)).To(And(MatchRegexp(`(?m)^hub: example.com/v1 +warning +does not serve Simulation`),
			MatchRegexp(`(?m)^example.com/v1 +warning +does not serve Simulation `)))

		By("serving it, the hub another one that cannot be handed over, too")
		serveSimulations(ctx, hub)
		serveExternal(ctx, hub, "Trial", apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"suspend": {Type: "boolean"}},
		})
		serveSimulations(ctx, w1)
		Eventually(func() string { return check("--external-framework", "Trial.v1.example.com") }).WithContext(ctx).Should(
			MatchRegexp(`(?m)^hub: example.com/v1 +warning +trials have no spec.managedBy`))
		Eventually(func() string { return check(named...) }).WithContext(ctx).Should(And(
			MatchRegexp(`(?m)^hub: example.com/v1 +ok +serves simulations`), MatchRegexp(`(?m)^example.com/v1 +ok +serves simulations`),
			MatchRegexp(`(?m)^rights +FAILED +the hub may not create simulations, .* --external-framework Simulation.v1.example.com`)))

		By("finding it in the configuration of the hub's program, whose account may not see it")
		for _, object := range hubProgram() {
			Expect(hub.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, object)).To(Succeed()) })
		}
		Expect(check()).To(MatchRegexp(`(?m)^hub: example.com/v1 +warning +the hub may not get simulations, .* patch simulations/status`))
		grantSimulations(ctx, w1, theHubAway, "get", "list", "watch", "create", "delete")
		Eventually(func() string { return check() }).WithContext(ctx).Should(MatchRegexp(`(?m)^rights +ok `))
	})

	It("knows the versions, the contexts and how to complete names", func(ctx SpecContext) {
		Expect(at.expectPrinted(ctx, "version")).To(MatchRegexp(`(?m)^Kubernetes Version: v1\.`))
		Expect(at.expectPrinted(ctx, "__complete", "cluster", "check", "w")).To(HavePrefix("w1\nw2\n"))
		Expect(at.expectPrinted(ctx, "options")).To(ContainSubstring("--context"))
		Expect(at.expectFailure(ctx, 2, "list", "workload", "--context", "w9")).To(ContainSubstring("its contexts are: hub, w1, w2"))
		for _, shell := range []string{"bash", "zsh", "fish"} {
			Expect(at.expectPrinted(ctx, "completion", shell)).To(ContainSubstring("switchctl"), shell)
		}
	})

	It("has had every verb run on real API servers, here or in a guide", func(ctx SpecContext) {
		typed := strings.Join(at.typed, "\n")
		for _, file := range []string{
			"cmd/switchctl/register.md", "cmd/switchctl/submit.md", "cmd/switchctl/trouble.md", "cmd/switchctl/maintain.md", "config/samples/README.md",
		} {
			blocks, err := guide.Read(filepath.Join("..", "..", file))
			Expect(err).NotTo(HaveOccurred())
			for _, b := range blocks {
				typed += "\n" + b.Commands
			}
		}
		verbs := at.verbs(ctx)
		Expect(len(verbs)).To(BeNumerically(">", 30), "%v", verbs)
		for _, verb := range verbs {
			Expect(typed).To(MatchRegexp(`switchctl( --\S+ \S+)* `+regexp.QuoteMeta(verb)+`\b`), "nobody has typed: switchctl %s", verb)
		}
	})
})

// hubProgram is the hub's program as the chart installs it, without replicas, and with a kind that only its configuration names.
func hubProgram() []client.Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: installation.Namespace, Name: name}
	}
	labels := map[string]string{"app.kubernetes.io/name": "switchyard"}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: named("switchyard-hub"), Data: map[string]string{"config.yaml": `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue: {externalFrameworks: [{name: Simulation.v1.example.com}]}
`}},
		&appsv1.Deployment{ObjectMeta: named("switchyard"), Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: "switchyard", Containers: []corev1.Container{{Name: "switchyard", Image: "switchyard.dev/hub"}},
				Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "switchyard-hub"}},
				}}},
			}},
		}},
	}
}

// site is the worker of that name.
func (t *switchctlSession) site(name string) *installation.Site {
	return workers[slices.Index([]string{"w1", "w2"}, name)]
}

// runs waits until a job's pods run at a worker, and returns which.
func (t *switchctlSession) runs(ctx context.Context, of team, job client.Object) (worker string) {
	GinkgoHelper()
	Eventually(func() (string, error) {
		var err error
		worker, err = clusterOf(ctx, job)
		return worker, err
	}).WithContext(ctx).ShouldNot(BeEmpty())
	if j, ok := job.(*batchv1.Job); ok {
		Eventually(activePodsAt).WithContext(ctx).WithArguments(t.site(worker), j).Should(Equal(int32(1)))
	}
	return worker
}

// makesQueues creates a flavor, a ClusterQueue and a LocalQueue.
func (t *switchctlSession) makesQueues(ctx context.Context, where, name string) {
	GinkgoHelper()
	flavor := "resourceflavor.kueue.x-k8s.io/" + name
	Expect(t.expectPrinted(ctx, "--context", where, "create", "resourceflavor", name, "--node-labels", "gpu.nvidia.com/class=H100", "-o", "name")).To(
		Equal(flavor + "\n"))
	quota := name + ":nvidia.com/gpu=2"
	Expect(t.expectPrinted(ctx, "--context", where, "create", "clusterqueue", name, "--nominal-quota", quota, "--dry-run=server")).To(
		Equal("clusterqueue.kueue.x-k8s.io/" + name + " created (server dry run)\n"))
	made := object[kueue.ClusterQueue](t.expectPrinted(ctx, "--context", where, "create", "clusterqueue", name, "--nominal-quota", quota, "-o", "json"))
	Expect(made.UID).NotTo(BeEmpty())
	Expect(t.expectFailure(ctx, 1, "--context", where, "create", "clusterqueue", name, "--nominal-quota", quota)).To(ContainSubstring("already exists"))
	Expect(t.expectFailure(ctx, 2, "--context", where, "create", "clusterqueue", name, "--nominal-quota", "gpu")).To(ContainSubstring("FLAVOR:RESOURCE=QUANTITY"))
	Expect(t.expectFailure(ctx, 3, "--context", where, "create", "localqueue", name, "-c", "nobody")).To(ContainSubstring("--ignore-unknown-cq"))
	queue := object[kueue.LocalQueue](t.expectPrinted(ctx, "--context", where, "create", "localqueue", name, "-c", name, "-o", "yaml"))
	Expect(queue.Spec.ClusterQueue).To(BeEquivalentTo(name))
}

// showsQueues lists, gets and describes what makesQueues has made, in every format.
func (t *switchctlSession) showsQueues(ctx context.Context, where, name string) {
	GinkgoHelper()
	for kind, plain := range map[string]string{"resourceflavor": "resourceflavors", "clusterqueue": "clusterqueues", "localqueue": "localqueues"} {
		full := kind + ".kueue.x-k8s.io/" + name
		Expect(t.expectPrinted(ctx, "--context", where, "list", kind, "-o", "name")).To(ContainSubstring(full + "\n"))
		all := object[list[map[string]any]](t.expectPrinted(ctx, "--context", where, "list", plain, "-o", "json"))
		Expect(all.Kind).To(Equal("List"))
		Expect(all.Items).To(ContainElement(HaveKeyWithValue("metadata", HaveKeyWithValue("name", name))), kind)
		Expect(t.expectPrinted(ctx, "--context", where, "list", kind, "-o", "wide")).To(MatchRegexp(`(?m)^NAME .*\n(.*\n)*` + name + ` `))
		Expect(t.expectPrinted(ctx, "--context", where, "get", kind, name, "-o", "name")).To(Equal(full + "\n"))
		for _, format := range []string{"json", "yaml"} {
			one := object[map[string]any](t.expectPrinted(ctx, "--context", where, "get", kind, name, "-o", format))
			Expect(one).To(HaveKeyWithValue("metadata", HaveKeyWithValue("name", name)), "%s as %s", kind, format)
		}
		Expect(t.expectPrinted(ctx, "--context", where, "describe", kind, name)).To(MatchRegexp(`Name: +` + name + `\n`))
	}
	for _, kind := range []string{"clusterqueue", "localqueue"} {
		Expect(t.expectFailure(ctx, 3, "--context", where, "get", kind, "nobody")).To(ContainSubstring(`"nobody" not found`))
		Expect(t.expectFailure(ctx, 3, "--context", where, "describe", kind, "nobody")).To(ContainSubstring(`"nobody" not found`))
	}
}

// changesQueues patches, edits and deletes what makesQueues has made; what is in use goes last.
func (t *switchctlSession) changesQueues(ctx context.Context, where, name string) {
	GinkgoHelper()
	Expect(t.expectPrinted(ctx, "--context", where, "patch", "cq", name, "--type=merge", "--patch", `{"spec":{"stopPolicy":"Hold"}}`)).To(
		Equal("clusterqueue.kueue.x-k8s.io/" + name + " patched\n"))
	queue := &kueue.ClusterQueue{}
	Expect(json.Unmarshal([]byte(t.expectPrinted(ctx, "--context", where, "get", "cq", name, "-o", "json")), queue)).To(Succeed())
	Expect(queue.Spec.StopPolicy).To(HaveValue(Equal(kueue.Hold)))
	Expect(t.expectFailure(ctx, 0, "--context", where, "edit", "cq", name)).To(ContainSubstring("Edit cancelled"))
	for _, kind := range []string{"localqueue", "clusterqueue", "resourceflavor"} {
		Expect(t.expectPrinted(ctx, "--context", where, "delete", kind, name)).To(ContainSubstring(name))
		Expect(t.expectPrinted(ctx, "--context", where, "list", kind, "-o", "name")).NotTo(ContainSubstring("/" + name + "\n"))
	}
}

// verbs are the commands of switchctl that do something, as its own completion has them.
func (t *switchctlSession) verbs(ctx context.Context, family ...string) []string {
	GinkgoHelper()
	var verbs []string
	for line := range strings.Lines(t.expectPrinted(ctx, slices.Concat([]string{"__complete"}, family, []string{""})...)) {
		word, _, described := strings.Cut(line, "\t")
		if !described || strings.HasPrefix(word, "-") || word == "help" || word == "powershell" {
			continue // names of objects have no description, and flags are no verbs
		}
		path := append(slices.Clone(family), word)
		var below []string
		if len(family) == 0 { // there are no families in families
			below = t.verbs(ctx, path...)
		}
		if below == nil {
			below = []string{strings.Join(path, " ")}
		}
		verbs = append(verbs, below...)
	}
	return verbs
}
