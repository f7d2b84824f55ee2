package kind

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// logLines are how many lines of each program's log a failure shows.
const logLines = 300

// A failed spec shows what every cluster holds and what its programs said, before the clusters go.
var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range []*kindCluster{hub, w1, w2} {
		if c == nil {
			continue
		}
		var out strings.Builder
		for _, part := range []struct {
			what string
			tell func(context.Context, io.Writer) error
		}{{"logs", c.printLogs}, {"pods", c.printPods}, {"events", c.printEvents}, {"workloads", c.printWorkloads}} {
			fmt.Fprintf(&out, "--- %s: %s\n", c.name, part.what)
			if err := part.tell(ctx, &out); err != nil {
				fmt.Fprintln(&out, err)
			}
		}
		GinkgoWriter.Print(out.String())
	}
})

func (c *kindCluster) printPods(ctx context.Context, out io.Writer) error {
	pods, err := c.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		fmt.Fprintf(out, "%s/%s %s", p.Namespace, p.Name, p.Status.Phase)
		for _, s := range p.Status.ContainerStatuses {
			fmt.Fprintf(out, "; %s ready=%t restarts=%d %s", s.Name, s.Ready, s.RestartCount, stateOf(s.State))
		}
		for _, condition := range p.Status.Conditions {
			if condition.Status != corev1.ConditionTrue && condition.Message != "" {
				fmt.Fprintf(out, "; %s: %s", condition.Type, condition.Message)
			}
		}
		fmt.Fprintln(out)
	}
	return nil
}

func stateOf(s corev1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return "waiting: " + s.Waiting.Reason + " " + s.Waiting.Message
	case s.Terminated != nil:
		return fmt.Sprintf("ended: %s %d %s", s.Terminated.Reason, s.Terminated.ExitCode, s.Terminated.Message)
	}
	return "runs"
}

func (c *kindCluster) printWorkloads(ctx context.Context, out io.Writer) error {
	var list kueue.WorkloadList
	if err := c.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		w := &list.Items[i]
		fmt.Fprintf(out, "%s/%s on %q nominated %v", w.Namespace, w.Name, ptr.Deref(w.Status.ClusterName, ""), w.Status.NominatedClusterNames)
		for _, check := range w.Status.AdmissionChecks {
			fmt.Fprintf(out, "; check %s %s (%s)", check.Name, check.State, check.Message)
		}
		for _, condition := range w.Status.Conditions {
			fmt.Fprintf(out, "; %s=%s %s at %s (%s)", condition.Type, condition.Status, condition.Reason,
				condition.LastTransitionTime.UTC().Format(time.TimeOnly), condition.Message)
		}
		fmt.Fprintln(out)
	}
	return nil
}

func (c *kindCluster) printEvents(ctx context.Context, out io.Writer) error {
	for _, namespace := range []string{team, system} {
		events, err := c.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		slices.SortFunc(events.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		for i := range events.Items {
			e := &events.Items[i]
			fmt.Fprintf(out, "%s %s %s/%s %s: %s\n", e.CreationTimestamp.UTC().Format(time.TimeOnly), e.Type,
				strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	return nil
}

func (c *kindCluster) printLogs(ctx context.Context, out io.Writer) error {
	pods, err := c.kube.CoreV1().Pods(system).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		name := pods.Items[i].Name
		log, err := c.kube.CoreV1().Pods(system).GetLogs(name, &corev1.PodLogOptions{TailLines: ptr.To[int64](logLines)}).DoRaw(ctx)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(out, "%s:\n", name)
		for line := range bytes.Lines(log) {
			if !bytes.Contains(line, []byte(`"msg":"Starting`)) && !bytes.Contains(line, []byte(`"msg":"Registering`)) {
				fmt.Fprintf(out, "%s", line)
			}
		}
	}
	return nil
}
