package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/e2e/memory"
	"switchyard.dev/e2e/network"
)

// memoryFleet is the hub's program, as a process, on an API server in memory, and workers on others, whose programs the runner
// plays on the spot: only the hub works, and only for the hub are there calls.
type memoryFleet struct {
	hub     *memory.Server
	workers []*simulatedWorker
	links   []*network.Link

	dir     string
	command clusters.Command
	health  string
	process *clusters.Process
}

// memoryFleetOptions say what to build.
type memoryFleetOptions struct {
	workers int
	// dispatcher by its full name.
	dispatcher string
	// latency of every request to the hub's own API server; delay of every packet from or to a worker, one way.
	latency, delay time.Duration
	// configuration is laid over the hub's.
	configuration map[string]any
	programs      string
}

const (
	// perCheck is how many clusters a MultiKueueConfig can name; more of them need several queues.
	perCheck = 20
	// workerCores is the quota of each worker: so little that every Job makes a difference of a thousandth, which is what
	// placement goes by, and more than any run holds.
	workerCores = 1000
	hubUser     = "hub"
)

// builtins are the resources of Kubernetes itself that a hub looks at.
func builtins() []memory.Resource {
	kind := func(group, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	}
	return []memory.Resource{
		{GroupVersionKind: kind("", "Namespace"), Plural: "namespaces"},
		{GroupVersionKind: kind("", "Secret"), Plural: "secrets", Namespaced: true},
		{GroupVersionKind: kind("", "Pod"), Plural: "pods", Namespaced: true, Status: true},
		{GroupVersionKind: kind("", "LimitRange"), Plural: "limitranges", Namespaced: true},
		{GroupVersionKind: kind("", "ResourceQuota"), Plural: "resourcequotas", Namespaced: true, Status: true},
		{GroupVersionKind: kind("apps", "ReplicaSet"), Plural: "replicasets", Namespaced: true, Status: true},
		{GroupVersionKind: kind("batch", "Job"), Plural: "jobs", Namespaced: true, Status: true},
		{GroupVersionKind: kind("coordination.k8s.io", "Lease"), Plural: "leases", Namespaced: true},
		{GroupVersionKind: kind("events.k8s.io", "Event"), Plural: "events", Namespaced: true, Forget: true},
		{GroupVersionKind: kind("node.k8s.io", "RuntimeClass"), Plural: "runtimeclasses"},
		{GroupVersionKind: kind("scheduling.k8s.io", "PriorityClass"), Plural: "priorityclasses"},
	}
}

// served is what every server of a fleet in memory serves.
func served() ([]memory.Resource, error) {
	list := builtins()
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		list = append(list, memory.ResourceOfCRD(crd)...)
	}
	return list, nil
}

// startMemoryFleet starts all servers and the hub's program, and returns when that is connected to all workers.
func startMemoryFleet(ctx context.Context, o memoryFleetOptions) (*memoryFleet, error) {
	resources, err := served()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "switchyard-bench-")
	if err != nil {
		return nil, fmt.Errorf("directory of the hub's program: %w", err)
	}
	h := &memoryFleet{dir: dir, hub: memory.Start("hub", resources...)}
	if err := h.createObjects(resources, o); err != nil {
		return nil, errors.Join(err, h.removeData())
	}
	if err := h.prepareDirectory(o); err != nil {
		return nil, errors.Join(err, h.removeData())
	}
	if err := errors.Join(h.start(), h.waitConnected(ctx, o.workers, 2*time.Minute)); err != nil {
		return nil, errors.Join(err, h.removeData())
	}
	h.hub.SetLatency(o.latency)
	return h, nil
}

func (h *memoryFleet) createObjects(resources []memory.Resource, o memoryFleetOptions) error {
	groups := (o.workers + perCheck - 1) / perCheck
	if err := putAll(h.hub, append(memoryFleetObjects(groups, o.workers), programsNamespace())); err != nil {
		return err
	}
	for i := range o.workers {
		server := memory.Start(fmt.Sprintf("w%03d", i), resources...)
		p := newSimulatedWorker(server, i/perCheck)
		h.workers = append(h.workers, p)
		if err := p.createObjects(); err != nil {
			return err
		}
		link, err := network.Open(server.Addr())
		if err != nil {
			return err
		}
		link.Delay(o.delay)
		h.links = append(h.links, link)
		kubeconfig, err := server.Kubeconfig(hubUser, link.Addr())
		if err != nil {
			return err
		}
		if err := putAll(h.hub, installation.Registration(server.Name, kubeconfig)); err != nil {
			return err
		}
	}
	return nil
}

// groupQueue names the queue, and all that belongs to it, of a group of clusters.
func groupQueue(group int) string { return fmt.Sprintf("group-%d", group) }

// memoryFleetObjects are the namespace, flavor and queues of a hub.
func memoryFleetObjects(groups, workers int) []client.Object {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team}},
	}
	for g := range groups {
		var members []string
		for i := g * perCheck; i < min((g+1)*perCheck, workers); i++ {
			members = append(members, fmt.Sprintf("w%03d", i))
		}
		name := groupQueue(g)
		queue := clusterQueue(name, unlimitedCores)
		queue.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{
			{Name: kueue.AdmissionCheckReference(name)},
		}}
		objects = append(objects, installation.MultiKueueCheck(name, members...)...)
		objects = append(objects, queue, localQueue(name))
	}
	return objects
}

// plurals of the kinds that are put onto servers.
func pluralOf(o client.Object) string {
	switch o.(type) {
	case *corev1.Namespace:
		return "namespaces"
	case *corev1.Secret:
		return "secrets"
	case *kueue.ResourceFlavor:
		return "resourceflavors"
	case *kueue.ClusterQueue:
		return "clusterqueues"
	case *kueue.LocalQueue:
		return "localqueues"
	case *kueue.AdmissionCheck:
		return "admissionchecks"
	case *kueue.MultiKueueConfig:
		return "multikueueconfigs"
	case *kueue.MultiKueueCluster:
		return "multikueueclusters"
	default:
		return ""
	}
}

func putAll(s *memory.Server, objects []client.Object) error {
	for _, o := range objects {
		if err := s.Put(pluralOf(o), o); err != nil {
			return fmt.Errorf("furnish %s: %w", s.Name, err)
		}
	}
	return nil
}

// prepareDirectory writes the files of the hub's program.
func (h *memoryFleet) prepareDirectory(o memoryFleetOptions) error {
	kubeconfig, err := h.hub.Kubeconfig(hubUser, "")
	if err != nil {
		return err
	}
	certificate, key, err := h.hub.Certificate()
	if err != nil {
		return err
	}
	var ports [3]clusters.Port
	for i := range ports {
		if ports[i], err = clusters.ReservePort(); err != nil {
			return err
		}
	}
	settings := map[string]any{
		"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": installation.Namespace,
		"webhook":                map[string]any{"host": "127.0.0.1", "port": ports[0].Number, "certDir": h.dir},
		"metrics":                map[string]any{"bindAddress": ports[1].Addr()},
		"health":                 map[string]any{"healthProbeBindAddress": ports[2].Addr()},
		"internalCertManagement": map[string]any{"enable": false},
		"leaderElection":         map[string]any{"leaderElect": false},
		"integrations":           map[string]any{"frameworks": []any{"batch/job"}},
		"featureGates":           map[string]any{"VisibilityOnDemand": false}, // servers in memory aggregate nothing
		"multiKueue":             map[string]any{"dispatcherName": o.dispatcher},
	}
	for name, value := range o.configuration {
		settings[name] = value
	}
	configuration, err := yaml.Marshal(settings)
	if err != nil {
		return fmt.Errorf("configuration of the hub: %w", err)
	}
	for name, data := range map[string][]byte{"kubeconfig": kubeconfig, "config.yaml": configuration, "tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(h.file(name), data, 0o600); err != nil {
			return fmt.Errorf("files of the hub: %w", err)
		}
	}
	h.health = "http://" + ports[2].Addr() + "/readyz"
	h.command = clusters.Command{
		Name: "hub", Path: filepath.Join(o.programs, "hub"), Log: h.file("hub.log"),
		Args: []string{"--config=" + h.file("config.yaml"), "--kubeconfig=" + h.file("kubeconfig")},
	}
	return nil
}

func (h *memoryFleet) file(name string) string { return filepath.Join(h.dir, name) }

func (h *memoryFleet) start() error {
	var err error
	h.process, err = clusters.StartProcess(h.command)
	return err
}

// waitConnected returns when the hub says that it is connected to so many workers.
func (h *memoryFleet) waitConnected(ctx context.Context, workers int, patience time.Duration) error {
	connected := 0
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		connected = 0
		for _, w := range h.workers {
			cluster := &kueue.MultiKueueCluster{}
			if err := h.hub.Get("multikueueclusters", "", w.server.Name, cluster); err != nil {
				return false, err
			}
			if meta.IsStatusConditionTrue(cluster.Status.Conditions, kueue.MultiKueueClusterActive) {
				connected++
			}
		}
		return connected >= workers && h.ready(), h.exitedProgram()
	})
	if err != nil {
		return fmt.Errorf("the hub is connected to %d of %d workers: %w\n%s", connected, workers, err, h.process.LogTail())
	}
	return nil
}

func (h *memoryFleet) ready() bool {
	response, err := http.Get(h.health) //nolint:noctx // an address of this machine, polled
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

func (h *memoryFleet) exitedProgram() error {
	if ended, err := h.process.Exited(); ended {
		return fmt.Errorf("the hub's program ended: %w\n%s", errors.Join(err, errProgramExited), h.process.LogTail())
	}
	return nil
}

var errProgramExited = errors.New("nobody asked it to")

// removeData ends everything.
func (h *memoryFleet) removeData() error {
	var err error
	if h.process != nil {
		err = h.process.Stop(stopGrace)
	}
	for _, link := range h.links {
		err = errors.Join(err, link.Close())
	}
	for _, w := range h.workers {
		w.stop()
	}
	h.hub.Stop()
	return errors.Join(err, os.RemoveAll(h.dir))
}
