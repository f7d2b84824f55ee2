package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/config"
	"switchyard.dev/e2e/bench/procfs"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
	"switchyard.dev/worker/kube"
)

var benchWrites = flag.Int("bench-writes", 0, "how many admissions to write in each way; 0 skips the benchmark")

// TestWriteCostBench writes the same admission in every way that the API offers and reports what one costs the control
// plane.
func TestWriteCostBench(t *testing.T) {
	if *benchWrites == 0 {
		t.Skip("give -bench-writes")
	}
	ctx := t.Context()
	cluster, err := clusters.Start(ctx, clusters.Options{Name: "writes"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.InstallCRDs(ctx, crds); err != nil {
		t.Fatal(err)
	}
	c, err := installation.Client(cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}); err != nil {
		t.Fatal(err)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "write\tkube-apiserver CPU\tetcd CPU")
	for _, way := range writeMethods() {
		list := make([]*kueue.Workload, *benchWrites)
		for i := range list {
			list[i] = newWorkload(fmt.Sprintf("%s-%d", way.name, i), "q", baseline().classes[0])
		}
		if way.name != "create" {
			forEach(t, list, func(wl *kueue.Workload) error { return c.Create(ctx, wl) })
		}
		before := controlPlane(t, cluster)
		forEach(t, list, func(wl *kueue.Workload) error { return way.write(ctx, c, wl) })
		after := controlPlane(t, cluster)
		per := func(name string) time.Duration { return (after[name] - before[name]) / time.Duration(len(list)) }
		fmt.Fprintf(table, "%s\t%s\t%s\n", way.name, per("kube-apiserver"), per("etcd"))
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
}

func forEach(t *testing.T, list []*kueue.Workload, do func(*kueue.Workload) error) {
	t.Helper()
	group := errgroup.Group{}
	group.SetLimit(8)
	for _, wl := range list {
		group.Go(func() error { return do(wl) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func controlPlane(t *testing.T, cluster *clusters.Cluster) map[string]time.Duration {
	t.Helper()
	cpu := map[string]time.Duration{}
	for _, pid := range cluster.PIDs() {
		p, err := procfs.Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		cpu[p.Name] += p.CPU
	}
	return cpu
}

type writeMethod struct {
	name  string
	write func(ctx context.Context, c client.Client, wl *kueue.Workload) error
}

func writeMethods() []writeMethod {
	return []writeMethod{
		{"create", func(ctx context.Context, c client.Client, wl *kueue.Workload) error { return c.Create(ctx, wl) }},
		{"apply", func(ctx context.Context, c client.Client, wl *kueue.Workload) error {
			return kube.ApplyAdmission(ctx, c, admitted(wl))
		}},
		{"merge", func(ctx context.Context, c client.Client, wl *kueue.Workload) error {
			_, err := kube.PatchStatus(ctx, c, wl, admitted(wl))
			return err
		}},
		{"json", func(ctx context.Context, c client.Client, wl *kueue.Workload) error {
			is := admitted(wl)
			patch, err := json.Marshal([]any{
				map[string]any{"op": "test", "path": "/metadata/resourceVersion", "value": wl.ResourceVersion},
				map[string]any{"op": "add", "path": "/status", "value": is.Status},
			})
			if err != nil {
				return err
			}
			return c.Status().Patch(ctx, is, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(kube.AdmissionFieldOwner))
		}},
		{"update", func(ctx context.Context, c client.Client, wl *kueue.Workload) error {
			return c.Status().Update(ctx, admitted(wl), client.FieldOwner(kube.AdmissionFieldOwner))
		}},
		{"event", func(ctx context.Context, c client.Client, wl *kueue.Workload) error {
			return c.Create(ctx, &eventsv1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: wl.Name}, Type: corev1.EventTypeNormal,
				Reason: "Admitted", Action: "Admitted", Note: "Admitted by ClusterQueue q, wait time since reservation was 0s",
				EventTime: metav1.NowMicro(), ReportingController: "bench", ReportingInstance: "bench-0",
				Regarding: corev1.ObjectReference{Kind: "Workload", Namespace: team, Name: wl.Name, UID: wl.UID},
			})
		}},
	}
}
