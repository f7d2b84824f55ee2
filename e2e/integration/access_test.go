package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	accessapi "switchyard.dev/apis/access/v1alpha1"
	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// grantAccess lets the hub show its users their jobs on a worker.
func grantAccess(ctx context.Context, w *installation.Site, level workeraccess.Level) {
	GinkgoHelper()
	Expect(installation.GrantAccess(ctx, hub.Cluster, w.Cluster, level, w.Link.Addr())).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(installation.RevokeAccess(ctx, hub.Cluster, w.Cluster)).To(Succeed())
	}, NodeTimeout(time.Minute))
}

// person is somebody who has rights on the hub, and reaches the workers through it only.
type person struct {
	name string
	// kubeconfig leads through the hub, server is the hub itself.
	kubeconfig string
	server     *rest.Config
}

// newPerson makes somebody with rights in a team's namespace on the hub.
func newPerson(ctx context.Context, name string, t team, rules ...rbacv1.PolicyRule) *person {
	GinkgoHelper()
	Expect(hub.Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}, Rules: rules})).To(Succeed())
	Expect(hub.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	})).To(Succeed())
	raw, err := hub.UserKubeconfig(name)
	Expect(err).NotTo(HaveOccurred())
	p := &person{name: name}
	p.server, err = clientcmd.RESTConfigFromKubeConfig(raw)
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	own := filepath.Join(dir, "hub.kubeconfig")
	Expect(os.WriteFile(own, raw, 0o600)).To(Succeed())
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	printed, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "switchctl"), "access", "kubeconfig", "--kubeconfig", own, "-n", t.name).Output()
	Expect(err).NotTo(HaveOccurred())
	p.kubeconfig = filepath.Join(dir, "fleet.kubeconfig")
	Expect(os.WriteFile(p.kubeconfig, printed, 0o600)).To(Succeed())
	return p
}

// kubectl runs an unchanged kubectl, and returns what it prints and its error.
func (p *person) kubectl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := p.command(ctx, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, hub.Kubectl(), append([]string{"--kubeconfig", p.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(p.kubeconfig))
	cmd.WaitDelay = time.Second
	return cmd
}

// ask sends a request below the path of all clusters, with the person's certificate and whatever headers, and returns status and body.
func (p *person) ask(ctx context.Context, method, path string, header http.Header) (int, string) {
	GinkgoHelper()
	config := rest.CopyConfig(p.server)
	config.NextProtos = []string{"http/1.1"} // HTTP/2 knows no upgrades
	transport, err := rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, method, p.server.Host+accessapi.BasePath("all")+path, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := transport.RoundTrip(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(raw)
}

// follower is a command that goes on.
type follower struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []string
	ended chan error
}

// follow starts a command that prints lines for as long as it runs.
func (p *person) follow(ctx context.Context, args ...string) *follower {
	GinkgoHelper()
	f := &follower{cmd: p.command(ctx, args...), ended: make(chan error, 1)}
	out, err := f.cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	f.cmd.Stderr = GinkgoWriter
	Expect(f.cmd.Start()).To(Succeed())
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			f.mu.Lock()
			f.lines = append(f.lines, lines.Text())
			f.mu.Unlock()
		}
		f.ended <- f.cmd.Wait()
	}()
	DeferCleanup(func() { _ = f.cmd.Process.Kill() })
	return f
}

func (f *follower) printed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "\n")
}

func rule(verbs, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"", "batch", "jobset.x-k8s.io", "events.k8s.io"}, Resources: strings.Split(resources, " "), Verbs: strings.Split(verbs, " ")}
}

// What people do with jobs that run elsewhere, by kubectl through the hub's API server.
var _ = Describe("access through the hub", Ordered, ContinueOnFailure, func() {
	var (
		t, others  team
		alice, bob *person
		job        *batchv1.Job
		pod        string
	)

	BeforeAll(func(ctx SpecContext) {
		Expect(installation.Aggregate(ctx, hub.Cluster, hub.Program)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(installation.Disaggregate(ctx, hub.Cluster, hub.Program)).To(Succeed())
		}, NodeTimeout(time.Minute))
		grantAccess(ctx, w1, workeraccess.LevelExec)
		grantAccess(ctx, w2, workeraccess.LevelLogs)
		t, others = newTeamOf(ctx, 4, 4, 0), newTeamOf(ctx, 4, 4, 0)
		alice = newPerson(ctx, "alice-"+t.name, t, rule("get list watch", "pods jobs jobsets events"), rule("get", "pods/log"),
			rule("create", "pods/exec pods/attach pods/portforward"))
		bob = newPerson(ctx, "bob-"+t.name, t, rule("get list watch", "pods jobs"))
		job = t.job("train", 1, "10m")
		Expect(hub.Create(ctx, job)).To(Succeed())
		theirs := others.job("theirs", 1, "10m")
		Expect(hub.Create(ctx, theirs)).To(Succeed())
		Eventually(func() ([]string, error) { return t.pods(ctx, w1) }).WithContext(ctx).Should(HaveLen(1))
		Eventually(func() ([]string, error) { return others.pods(ctx, w1) }).WithContext(ctx).Should(HaveLen(1))
		names, err := t.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		pod = names[0]
		Eventually(func() (string, error) { return alice.kubectl(ctx, "get", "pods") }).WithContext(ctx).Should(And(ContainSubstring(pod), ContainSubstring("Running")))
	}, NodeTimeout(3*time.Minute))

	It("shows pods, jobs and events, and where they are", func(ctx SpecContext) {
		Expect(alice.kubectl(ctx, "get", "pods")).To(And(MatchRegexp(`NAME .*CLUSTER`), MatchRegexp(pod+`.*w1`)))
		Expect(alice.kubectl(ctx, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")).To(HavePrefix("gpu-"))
		Expect(alice.kubectl(ctx, "get", "job", "train")).To(MatchRegexp(`train.*w1`))
		Expect(alice.kubectl(ctx, "describe", "pod", pod)).To(ContainSubstring("Scheduled"))
		Expect(alice.kubectl(ctx, "events")).To(ContainSubstring(pod))
		Expect(alice.kubectl(ctx, "get", "events")).To(ContainSubstring(pod))
		Expect(alice.kubectl(ctx, "auth", "can-i", "get", "pods", "--subresource=log")).To(ContainSubstring("yes"))
		_, err := bob.kubectl(ctx, "auth", "can-i", "get", "pods", "--subresource=log")
		Expect(err).To(HaveOccurred())
	}, SpecTimeout(time.Minute))

	It("shows logs of pods and jobs", func(ctx SpecContext) {
		began := time.Now()
		Expect(alice.kubectl(ctx, "logs", pod)).To(ContainSubstring("a container of cluster w1"))
		AddReportEntry("kubectl logs, start of the program included", time.Since(began).String())
		Expect(alice.kubectl(ctx, "logs", "job/train")).To(ContainSubstring("a container of cluster w1"))
		Expect(alice.kubectl(ctx, "logs", pod, "--previous")).To(ContainSubstring("a container of cluster w1"))
		Expect(w1.WriteLog("one more")).To(Succeed())
		Expect(alice.kubectl(ctx, "logs", pod, "--tail=1")).To(Equal("one more\n"))
		f := alice.follow(ctx, "logs", "-f", pod)
		Eventually(f.printed).WithContext(ctx).Should(ContainSubstring("one more"))
		Expect(w1.WriteLog("line of " + t.name)).To(Succeed())
		Eventually(f.printed).WithContext(ctx).Should(ContainSubstring("line of " + t.name))
	}, SpecTimeout(time.Minute))

	for _, protocol := range []struct{ name, websockets string }{{"WebSocket", "true"}, {"SPDY", "false"}} {
		It("runs commands, copies files and forwards ports by "+protocol.name, func(ctx SpecContext) {
			GinkgoT().Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", protocol.websockets)
			GinkgoT().Setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", protocol.websockets)
			Expect(alice.kubectl(ctx, "exec", pod, "--", "echo", "hello")).To(Equal("hello\n"))
			in := alice.command(ctx, "exec", "-i", pod, "--", "head", "-n", "1") // kwok does not close what a command reads
			in.Stdin = strings.NewReader("through and back\n")
			Expect(in.Output()).To(BeEquivalentTo("through and back\n"))
			_, err := alice.kubectl(ctx, "exec", pod, "--", "sh", "-c", "exit 3")
			Expect(err).To(MatchError(ContainSubstring("exit status 3")))

			// A megabyte there and back; kubectl cp cannot copy to kwok, which would have to close what tar reads.
			want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			there := filepath.Join(GinkgoT().TempDir(), "file")
			in = alice.command(ctx, "exec", "-i", pod, "--", "sh", "-c", fmt.Sprintf("head -c %d > %s", len(want), there))
			in.Stdin = bytes.NewReader(want)
			Expect(in.Run()).To(Succeed())
			_, err = alice.kubectl(ctx, "cp", pod+":"+there, there+".back")
			Expect(err).NotTo(HaveOccurred())
			back, err := os.ReadFile(there + ".back")
			Expect(err).NotTo(HaveOccurred())
			Expect(bytes.Equal(back, want)).To(BeTrue(), "%d bytes came back of %d", len(back), len(want))

			local, err := clusters.ReservePort()
			Expect(err).NotTo(HaveOccurred())
			alice.follow(ctx, "port-forward", pod, fmt.Sprintf("%d:80", local.Number))
			Eventually(func() (string, error) { return fetch(ctx, "http://"+local.Addr()+"/health") }).WithContext(ctx).Should(ContainSubstring("true"))
		}, SpecTimeout(2*time.Minute))
	}

	It("attaches to a container", func(ctx SpecContext) {
		f := alice.follow(ctx, "attach", pod)
		Eventually(func() string {
			Expect(w1.WriteLog("attached")).To(Succeed())
			return f.printed()
		}).WithContext(ctx).Should(ContainSubstring("attached"))
	}, SpecTimeout(time.Minute))

	It("says on the job who connects to its containers", func(ctx SpecContext) {
		_, err := alice.kubectl(ctx, "exec", pod, "--", "true")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() ([]string, error) { return eventReasons(ctx, hub, t) }).WithContext(ctx).Should(ContainElement(ContainSubstring("PodExec")))
		Expect(os.ReadFile(hub.Program.Log)).To(And(ContainSubstring("Connecting to a container"), ContainSubstring(alice.name)))
	}, SpecTimeout(time.Minute))

	It("watches pods come and go", func(ctx SpecContext) {
		f := alice.follow(ctx, "get", "pods", "-w", "--output-watch-events")
		Eventually(f.printed).WithContext(ctx).Should(ContainSubstring(pod))
		short := t.job("short", 1, "1s")
		Expect(hub.Create(ctx, short)).To(Succeed())
		Eventually(f.printed).WithContext(ctx).Should(MatchRegexp(`ADDED +short-`))
		Eventually(f.printed).WithContext(ctx).Should(MatchRegexp(`DELETED +short-`))
	}, SpecTimeout(2*time.Minute))

	It("serves clients of the Go library", func(ctx SpecContext) {
		config, err := clientcmd.BuildConfigFromFlags("", alice.kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		clientset, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		list, err := clientset.CoreV1().Pods(t.name).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(ContainElement(HaveField("Name", pod)))
		raw, err := clientset.CoreV1().Pods(t.name).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(raw)).To(ContainSubstring("a container of cluster w1"))
		cached := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(t.name))
		lister := cached.Core().V1().Pods().Lister().Pods(t.name)
		cached.StartWithContext(ctx)
		for kind, synced := range cached.WaitForCacheSyncWithContext(ctx).Synced {
			Expect(synced).To(BeTrue(), kind.String())
		}
		Expect(lister.Get(pod)).To(HaveField("Status.Phase", corev1.PodRunning))
	}, SpecTimeout(time.Minute))

	It("denies what the hub does not allow", func(ctx SpecContext) {
		base := "/api/v1/namespaces/" + t.name + "/pods/" + pod
		theirs, err := others.pods(ctx, w1)
		Expect(err).NotTo(HaveOccurred())
		foreign := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: t.name, Name: "foreign", Labels: map[string]string{"batch.kubernetes.io/job-name": "train", kueue.MultiKueueOriginLabel: "multikueue"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		}
		Expect(w1.Create(ctx, foreign)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(w1.Delete(ctx, foreign)).To(Succeed()) }, NodeTimeout(time.Minute))
		upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {"v4.channel.k8s.io"}}
		forged := http.Header{"X-Remote-User": {"system:admin"}, "X-Remote-Group": {"system:masters"}}
		for _, request := range []struct {
			who          *person
			method, path string
			header       http.Header
			code         int
		}{
			{bob, http.MethodGet, base + "/log", nil, http.StatusForbidden},
			{bob, http.MethodGet, base + "/log", forged, http.StatusForbidden},
			{bob, http.MethodGet, base + "/exec?command=id&stdout=true", upgrade, http.StatusForbidden},
			{bob, http.MethodPost, base + "/exec?command=id&stdout=true", upgrade, http.StatusForbidden},
			{bob, http.MethodPost, base + "/portforward", upgrade, http.StatusForbidden},
			{bob, http.MethodGet, base + "/log", http.Header{"Impersonate-User": {alice.name}}, http.StatusForbidden},
			{alice, http.MethodGet, "/api/v1/namespaces/" + others.name + "/pods", nil, http.StatusForbidden},
			{alice, http.MethodGet, "/api/v1/namespaces/" + others.name + "/pods/" + theirs[0] + "/log", nil, http.StatusForbidden},
			{alice, http.MethodGet, "/api/v1/namespaces/" + t.name + "/pods/" + theirs[0] + "/log", nil, http.StatusNotFound},
			{alice, http.MethodGet, "/api/v1/namespaces/" + t.name + "/pods/foreign/log", nil, http.StatusNotFound},
			{alice, http.MethodPost, "/api/v1/namespaces/" + t.name + "/pods/foreign/exec?command=id&stdout=true", upgrade, http.StatusNotFound},
			{alice, http.MethodGet, "/api/v1/namespaces/" + t.name + "/pods/..%2f..%2f" + others.name + "%2fpods%2f" + theirs[0] + "/log", nil, http.StatusBadRequest},
			{alice, http.MethodGet, "/api/v1/namespaces/" + t.name + "/secrets", nil, http.StatusNotFound},
			{alice, http.MethodGet, "/api/v1/pods", nil, http.StatusNotFound},
			{alice, http.MethodDelete, base, nil, http.StatusForbidden}, // the hub's API server asks for delete on clusters/proxy
		} {
			code, body := request.who.ask(ctx, request.method, request.path, request.header)
			Expect(code).To(Equal(request.code), "%s %s %v: %s", request.method, request.path, request.header, body)
		}
		Expect(alice.kubectl(ctx, "get", "pods")).NotTo(ContainSubstring("foreign"))
	}, SpecTimeout(2*time.Minute))

	It("knows callers on its own port by their tokens, and believes nobody's headers", func(ctx SpecContext) {
		kubeconfig, err := hub.ServiceAccountKubeconfig(ctx, clusters.ServiceAccount{Namespace: t.name, Name: "direct", Rules: []rbacv1.PolicyRule{rule("get list", "pods"), rule("get", "pods/log")}})
		Expect(err).NotTo(HaveOccurred())
		account, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		ask := func(header http.Header) (int, string) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d", hub.Program.APIPort)+accessapi.BasePath("all")+"/api/v1/namespaces/"+t.name+"/pods/"+pod+"/log", http.NoBody)
			Expect(err).NotTo(HaveOccurred())
			req.Header = header
			resp, err := direct.Do(req)
			Expect(err).NotTo(HaveOccurred())
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			Expect(err).NotTo(HaveOccurred())
			return resp.StatusCode, string(raw)
		}
		code, body := ask(http.Header{"Authorization": {"Bearer " + account.BearerToken}})
		Expect(code).To(Equal(http.StatusOK), body)
		Expect(body).To(ContainSubstring("a container of cluster w1"))
		for _, header := range []http.Header{
			{}, {"X-Remote-User": {alice.name}}, {"X-Remote-User": {"system:admin"}, "X-Remote-Group": {"system:masters"}}, {"Authorization": {"Bearer nonsense"}},
		} {
			code, body := ask(header)
			Expect(code).To(Or(Equal(http.StatusUnauthorized), Equal(http.StatusForbidden)), "%v %s", header, body)
		}
	}, SpecTimeout(time.Minute))

	It("says which command grants what the hub's account may not do", func(ctx SpecContext) {
		only := newTeamOf(ctx, 4, 0, 4)
		carol := newPerson(ctx, "carol-"+only.name, only, rule("get list", "pods"), rule("get", "pods/log"), rule("create", "pods/exec"))
		Expect(hub.Create(ctx, only.job("train", 1, "10m"))).To(Succeed())
		Eventually(func() ([]string, error) { return only.pods(ctx, w2) }).WithContext(ctx).Should(HaveLen(1))
		names, err := only.pods(ctx, w2)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (string, error) { return carol.kubectl(ctx, "logs", names[0]) }).WithContext(ctx).Should(ContainSubstring("a container of cluster w2"))
		out, err := carol.kubectl(ctx, "exec", names[0], "--", "true")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("switchctl cluster register w2 --access exec"))
	}, SpecTimeout(2*time.Minute))

	It("ends a log when the way to the worker is cut, and finds it again", func(ctx SpecContext) {
		f := alice.follow(ctx, "logs", "-f", pod)
		Eventually(f.printed).WithContext(ctx).Should(ContainSubstring("a container of cluster w1"))
		w1.Link.Partition()
		Eventually(f.ended).WithContext(ctx).Should(Receive())
		began := time.Now()
		out, err := alice.kubectl(ctx, "logs", pod)
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring(`cluster "w1"`))
		Expect(time.Since(began)).To(BeNumerically("<", 45*time.Second))
		w1.Link.Pass()
		Eventually(func() (string, error) { return alice.kubectl(ctx, "logs", pod) }).WithContext(ctx).Should(ContainSubstring("a container of cluster w1"))
	}, SpecTimeout(3*time.Minute))

	It("serves many followers, and dispatches meanwhile", func(ctx SpecContext) {
		config, err := clientcmd.BuildConfigFromFlags("", alice.kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		clientset, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		const followers = 20 // each takes kwok one of the machine's few inotify instances
		seen, slowest := make(chan time.Duration, followers), time.Duration(0)
		for range followers {
			began := time.Now()
			stream, err := clientset.CoreV1().Pods(t.name).GetLogs(pod, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
			Expect(err).NotTo(HaveOccurred())
			slowest = max(slowest, time.Since(began))
			DeferCleanup(stream.Close)
			go func() {
				lines := bufio.NewScanner(stream)
				for lines.Scan() {
					if strings.Contains(lines.Text(), "to all of them") {
						seen <- 0
						return
					}
				}
			}()
		}
		AddReportEntry("slowest beginning of a log", slowest.String())
		Expect(w1.WriteLog("to all of them")).To(Succeed())
		for range followers {
			Eventually(seen).WithContext(ctx).Should(Receive())
		}
		short := t.job("meanwhile", 1, "1s")
		expectCompleteOn(ctx, "w1", short)
	}, SpecTimeout(3*time.Minute))
})

// fetch is the body of an answer.
func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}
