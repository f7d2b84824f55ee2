package kind

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// window is a Job that ticks and serves, with a tar for kubectl cp.
func window() *batchv1.Job {
	j := job("window", main, "serve", ":8080")
	spec := &j.Spec.Template.Spec
	spec.Volumes = []corev1.Volume{
		{Name: "tools", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	tools := corev1.VolumeMount{Name: "tools", MountPath: "/tools"}
	spec.InitContainers = []corev1.Container{{
		Name: "install", Image: spec.Containers[0].Image, Args: []string{"install", "/tools/tar"}, VolumeMounts: []corev1.VolumeMount{tools},
		Resources: spec.Containers[0].Resources,
	}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{tools, {Name: "data", MountPath: "/data"}}
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "PATH", Value: "/tools"}}
	return j
}

// throughHub runs kubectl with a kubeconfig that leads through the hub.
type throughHub struct{ kubeconfig string }

func (t throughHub) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", t.kubeconfig}, args...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

func (t throughHub) kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := t.command(ctx, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// looksInside does with a container what people do, through the hub and real kubelets.
func looksInside(ctx SpecContext) {
	for _, w := range workers {
		switchctl(ctx, "cluster", "register", w.name, "--context", w.name, "--hub-context", "hub",
			"--address", "https://"+w.ip+":6443", "--config", "workers", "--access", "exec", "--timeout", "6m")
	}
	t := throughHub{filepath.Join(GinkgoT().TempDir(), "fleet.kubeconfig")}
	Expect(os.WriteFile(t.kubeconfig, []byte(switchctl(ctx, "access", "kubeconfig", "--namespace", team)), 0o600)).To(Succeed())
	j := window()
	Expect(hub.Create(ctx, j)).To(Succeed())
	Eventually(running).WithContext(ctx).WithArguments(j).ShouldNot(BeEmpty())
	where, err := running(ctx, j)
	Expect(err).NotTo(HaveOccurred())
	at := workers[slices.IndexFunc(workers, func(w *kindCluster) bool { return w.name == where })]
	pods, err := podsOf(ctx, at, j)
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).To(HaveLen(1))
	pod := pods[0].Name

	Eventually(func() (string, error) { return t.kubectl(ctx, "get", "pods") }).WithContext(ctx).Should(MatchRegexp(pod + `.*Running.*` + where))
	Expect(t.kubectl(ctx, "logs", "job/window")).To(ContainSubstring("tick 0"))
	Expect(switchctl(ctx, "logs", "job/window", "--namespace", team, "--tail", "1")).To(ContainSubstring("tick"))
	follow := t.command(ctx, "logs", "-f", pod)
	out, err := follow.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(follow.Start()).To(Succeed())
	lines := bufio.NewScanner(out)
	for range 20 {
		Expect(lines.Scan()).To(BeTrue())
	}
	Expect(follow.Process.Kill()).To(Succeed())
	_ = follow.Wait()
	logf("a log was followed through the hub")

	for _, websockets := range []string{"true", "false"} {
		t.connects(ctx, pod, websockets)
		logf("exec, cp and port-forward went through the hub; WebSockets: %s", websockets)
	}
	t.hasFollowers(ctx, pod, 100)
	remove(ctx, j)
}

// connects runs commands, copies a file and forwards a port, by WebSockets or by SPDY.
func (t throughHub) connects(ctx context.Context, pod, websockets string) {
	GinkgoHelper()
	for _, name := range []string{"KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"} {
		GinkgoT().Setenv(name, websockets)
	}
	Expect(t.kubectl(ctx, "exec", pod, "-c", "main", "--", "/job", "echo", "hello")).To(ContainSubstring("hello\n"))
	in := t.command(ctx, "exec", "-it", pod, "-c", "main", "--", "/job", "cat")
	in.Stdin = strings.NewReader("there and back\n")
	Expect(in.Output()).To(ContainSubstring("there and back"))
	_, err := t.kubectl(ctx, "exec", pod, "-c", "main", "--", "/job", "exit", "7")
	Expect(err).To(MatchError(ContainSubstring("exit code 7")))

	dir := GinkgoT().TempDir()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	Expect(os.WriteFile(filepath.Join(dir, "file"), want, 0o600)).To(Succeed())
	_, err = t.kubectl(ctx, "cp", filepath.Join(dir, "file"), pod+":/data/file", "-c", "main")
	Expect(err).NotTo(HaveOccurred())
	_, err = t.kubectl(ctx, "cp", pod+":/data/file", filepath.Join(dir, "back"), "-c", "main")
	Expect(err).NotTo(HaveOccurred())
	back, err := os.ReadFile(filepath.Join(dir, "back"))
	Expect(err).NotTo(HaveOccurred())
	Expect(bytes.Equal(back, want)).To(BeTrue(), "%d bytes came back of %d", len(back), len(want))

	forward := t.command(ctx, "port-forward", pod, ":8080", "--address", "127.0.0.1")
	out, err := forward.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(forward.Start()).To(Succeed())
	said, err := bufio.NewReader(out).ReadString('\n') // Forwarding from 127.0.0.1:PORT -> 8080
	Expect(err).NotTo(HaveOccurred())
	address := strings.Fields(said)[2]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	raw, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(resp.Body.Close()).To(Succeed())
	Expect(string(raw)).To(Equal("hello from a container\n"))
	Expect(forward.Process.Kill()).To(Succeed())
	_ = forward.Wait()
}

// hasFollowers follows one log many times, and says when the first byte came.
func (t throughHub) hasFollowers(ctx context.Context, pod string, number int) {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", t.kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first []time.Duration
	var streams []*bufio.Reader
	for range number {
		began := time.Now()
		stream, err := clientset.CoreV1().Pods(team).GetLogs(pod, &corev1.PodLogOptions{Container: "main", Follow: true}).Stream(ctx)
		Expect(err).NotTo(HaveOccurred())
		defer stream.Close()
		reader := bufio.NewReader(stream)
		_, err = reader.ReadByte()
		Expect(err).NotTo(HaveOccurred())
		first = append(first, time.Since(began))
		streams = append(streams, reader)
	}
	for _, stream := range streams { // all go on
		for range 10 {
			_, err := stream.ReadString('\n')
			Expect(err).NotTo(HaveOccurred())
		}
	}
	slices.Sort(first)
	logf("%d followers: first byte after %s (median), %s (slowest)", number, first[number/2].Round(time.Millisecond), first[number-1].Round(time.Millisecond))
}

// followLog follows the log of a Job through the hub until it ends; the first line has come on return.
func followLog(ctx context.Context, j *batchv1.Job) (<-chan error, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(prepared, "switchctl"), "logs", "-f", "job/"+j.Name, "--namespace", j.Namespace)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("follow the log of %s: %w", j.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("follow the log of %s: %w", j.Name, err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, fmt.Errorf("the log of %s has no line: %w", j.Name, cmd.Wait())
	}
	ended := make(chan error, 1)
	go func() {
		for lines.Scan() {
			continue
		}
		ended <- cmd.Wait()
	}()
	return ended, nil
}
