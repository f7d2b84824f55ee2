package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/workeraccess"
	accessapi "switchyard.dev/apis/access/v1alpha1"
	"switchyard.dev/e2e/installation"
)

// lineInterval is how often the log that is followed gets a line.
const lineInterval = time.Second

// followLog dispatches a Job, plays its pod and the kubelet of that, and has so many clients follow its log through the hub's API server, each
// of which has seen its first line on return. Stop ends them, and fails if one ended before.
func (a *clusterFleet) followLog(ctx context.Context, number int) (stop func() error, err error) {
	if err := installation.Aggregate(ctx, a.hub.Cluster, a.hub.program); err != nil {
		return nil, err
	}
	w, job, err := a.dispatchFollowed(ctx)
	if err != nil {
		return nil, err
	}
	if err := installation.GrantAccess(ctx, a.hub.Cluster, w.Cluster, workeraccess.LevelLogs, ""); err != nil {
		return nil, err
	}
	stopKubelet, err := w.playPod(ctx, job)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(a.hub.Config)
	config.Host += accessapi.BasePath(accessapi.AllClusters)
	config.QPS = -1
	through, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, errors.Join(err, stopKubelet())
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	ended, began := make(chan error, number), make(chan struct{}, number)
	for range number {
		all.Go(func() { ended <- follow(ctx, through, job.Name, began) })
	}
	for range number {
		select {
		case <-began:
		case err := <-ended:
			cancel()
			return nil, errors.Join(err, stopKubelet())
		}
	}
	return func() error {
		early := len(ended)
		cancel()
		all.Wait()
		if early > 0 {
			return errors.Join(fmt.Errorf("%d of %d followers ended early: %w", early, number, <-ended), stopKubelet())
		}
		return stopKubelet()
	}, nil
}

// follow reads the log until the context ends, and tells of its first line.
func follow(ctx context.Context, c kubernetes.Interface, pod string, began chan<- struct{}) error {
	stream, err := c.CoreV1().Pods(team).GetLogs(pod, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		return fmt.Errorf("follow a log: %w", err)
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	for first := true; lines.Scan(); first = false {
		if first {
			began <- struct{}{}
		}
	}
	return lines.Err()
}

// dispatchFollowed returns a Job as it is on the worker that has got it.
func (a *clusterFleet) dispatchFollowed(ctx context.Context) (*clusterProgram, *batchv1.Job, error) {
	wanted := queuedJob("followed", unlimitedQueue, 1)
	if err := a.hub.client.Create(ctx, wanted); err != nil {
		return nil, nil, fmt.Errorf("submit the Job to be followed: %w", err)
	}
	var at *clusterProgram
	job := &batchv1.Job{}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, w := range a.workers {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(wanted), job); err == nil {
				at = w
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("the Job to be followed comes to no worker: %w", err)
	}
	return at, job, nil
}

// playPod makes a pod of the Job, of the same name, on a node whose kubelet writes a line to its log at each interval.
func (p *clusterProgram) playPod(ctx context.Context, job *batchv1.Job) (stop func() error, err error) {
	certificate, err := p.ServingCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("kubelet of %s: %w", p.Name, err)
	}
	kubelet := &http.Server{
		Handler: http.HandlerFunc(writeLog), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = kubelet.ServeTLS(listener, "", "") }()
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	for _, object := range []client.Object{
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "played"},
			Status: corev1.NodeStatus{
				Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
				DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}}, //nolint:gosec // a port
			},
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: job.Namespace, Name: job.Name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{NodeName: "played", Containers: []corev1.Container{{Name: "main", Image: "example.local/train:1"}}},
		},
	} {
		if err := p.client.Create(ctx, object); err != nil {
			return nil, errors.Join(fmt.Errorf("play a pod on %s: %w", p.Name, err), kubelet.Close())
		}
	}
	return kubelet.Close, nil
}

// writeLog answers a request for a log that is followed.
func writeLog(w http.ResponseWriter, r *http.Request) {
	ticker := time.NewTicker(lineInterval)
	defer ticker.Stop()
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(w, "line %d of a log, as long as such lines often are: loss 0.1234, step 12345, 567.8 samples/s\n", i); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}
