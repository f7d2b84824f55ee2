package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/installation"
)

// The whole stage: one hub, two workers with the same nodes. The specs of a process share it and keep to a namespace of their
// own; another process of the same run has another stage.
var (
	hub, w1, w2 *installation.Site
	workers     []*installation.Site
)

// begunEarly is for containers of more than a minute and a half: the specs that begin last are short ones, so that no process has nothing
// left to do for long.
const begunEarly = SpecPriority(1)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	logger := zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true))
	ctrllog.SetLogger(logger)
	klog.SetLogger(logger) // Ginkgo shows what is written to standard error, also of specs that pass
	RunSpecs(t, "Switchyard on real API servers")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	root, err := clusters.SourceRoot()
	Expect(err).NotTo(HaveOccurred())
	nodes := []clusters.NodePool{{Name: "gpu", Count: 2, GPUClass: "H100", GPUs: 8}}
	stage, err := installation.StartStage(ctx, installation.StageOptions{
		Hub: clusters.Options{Name: "hub", Controllers: true, OperatorCRDs: []clusters.Operator{clusters.JobSet}},
		Workers: []clusters.Options{
			{Name: "w1", Nodes: nodes, Operators: []clusters.Operator{clusters.JobSet}},
			{Name: "w2", Nodes: nodes, Operators: []clusters.Operator{clusters.JobSet}},
		},
		Programs:      filepath.Join(root, "bin"),
		Links:         true,
		Configuration: configuration(nil),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(stage.Stop()).To(Succeed()) })
	hub, workers = stage.Hub, stage.Workers
	w1, w2 = workers[0], workers[1]

	for _, object := range installation.MultiKueueCheck("multikueue", "w1", "w2") {
		Expect(hub.Create(ctx, object)).To(Succeed())
	}
	Eventually(checkActive).WithContext(ctx).WithArguments("multikueue").
		Should(Equal("True Active The admission check is active"))
}, NodeTimeout(5*time.Minute))

// configuration is every program's, with what is said of multiKueue laid over.
func configuration(multiKueue map[string]any) map[string]any {
	all := map[string]any{"workerLostTimeout": "15s", "gcInterval": "2s"}
	maps.Copy(all, multiKueue)
	return map[string]any{"multiKueue": all}
}

// A spec may have taken an API server away, whose program then ended and is being started again.
var _ = BeforeEach(func(ctx SpecContext) {
	for _, s := range []*installation.Site{hub, w1, w2} {
		Eventually(s.Program.Ready).WithContext(ctx).Should(BeTrue(), "the program beside %s is ready", s.Name)
	}
})

// A failed spec shows what the API servers hold, before it is cleaned up.
var _ = JustAfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, s := range []*installation.Site{hub, w1, w2} {
		if s != nil && s.Program != nil {
			GinkgoWriter.Printf("--- held by %s\n%s", s.Name, held(s))
		}
	}
})

// It shows the ends of the programs' logs as well, and keeps the whole logs where CI can pick them up.
var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() {
		return
	}
	for _, s := range []*installation.Site{hub, w1, w2} {
		if s != nil && s.Program != nil {
			GinkgoWriter.Printf("--- %s\n%s\n", s.Name, s.Program.LogTail())
			keepLog(s)
		}
	}
})

// held is one line for each Workload of the cluster: its conditions, where it was admitted and what its checks say.
func held(s *installation.Site) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var list kueue.WorkloadList
	if err := s.List(ctx, &list); err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for i := range list.Items {
		w := &list.Items[i]
		fmt.Fprintf(&b, "%s/%s on %q nominated %v", w.Namespace, w.Name, ptr.Deref(w.Status.ClusterName, ""),
			w.Status.NominatedClusterNames)
		for _, c := range w.Status.AdmissionChecks {
			fmt.Fprintf(&b, "; check %s %s (%s)", c.Name, c.State, c.Message)
		}
		for _, c := range w.Status.Conditions {
			fmt.Fprintf(&b, "; %s=%s %s at %s (%s)", c.Type, c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.TimeOnly), c.Message)
		}
		b.WriteString("\n")
	}
	var registered kueue.MultiKueueClusterList
	if err := s.List(ctx, &registered); err != nil {
		return b.String() + err.Error() + "\n"
	}
	for i := range registered.Items {
		for _, c := range registered.Items[i].Status.Conditions {
			fmt.Fprintf(&b, "cluster %s: %s=%s %s at %s (%s)\n", registered.Items[i].Name, c.Type, c.Status, c.Reason,
				c.LastTransitionTime.UTC().Format(time.TimeOnly), c.Message)
		}
	}
	var jobs batchv1.JobList
	if err := s.List(ctx, &jobs); err != nil {
		return b.String() + err.Error() + "\n"
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		fmt.Fprintf(&b, "job %s/%s suspended %t, version %s, deleted %v, annotations %v, terminating %d, status %+v\n", j.Namespace, j.Name,
			ptr.Deref(j.Spec.Suspend, false), j.ResourceVersion, j.DeletionTimestamp, j.Annotations, ptr.Deref(j.Status.Terminating, 0), j.Status)
	}
	return b.String()
}

func keepLog(s *installation.Site) {
	dir := os.Getenv("SWITCHYARD_LOGS")
	if dir == "" {
		return
	}
	data, err := os.ReadFile(s.Program.Log)
	if err == nil {
		name := fmt.Sprintf("process-%d-%s.log", GinkgoParallelProcess(), s.Name)
		err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
	}
	if err != nil {
		GinkgoWriter.Printf("keeping the log of %s: %v\n", s.Name, err)
	}
}
