package pod

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/cmd/logs"
	"sigs.k8s.io/controller-runtime/pkg/client"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/workload"
	"switchyard.dev/hub/logtail/kept"
	"switchyard.dev/worker/kube"
)

// printKeptLogs prints how the logs of a job ended whose pods cannot be had, if the hub has kept that; else it returns why they cannot.
func (f finder) printKeptLogs(ctx context.Context, t target, o *logs.LogsOptions, why error) error {
	if t.job == nil || !t.ended && (t.workload != "" || exit.Code(why) != exit.NotFound) {
		return why
	}
	tail, err := f.keptTail(ctx, *t.job, t.workload)
	if err != nil {
		return fmt.Errorf("%w; whether the hub has kept how its logs ended is not known: %v", why, err) //nolint:errorlint // the first one has the code
	}
	if tail == nil {
		return why
	}
	entries := slices.DeleteFunc(slices.Clone(tail.Entries), func(e kept.Entry) bool { return o.Container != "" && e.Container != o.Container })
	if len(entries) == 0 {
		return exit.NotFoundf("%s: the hub has kept nothing of the log of a container %q", t, o.Container)
	}
	fmt.Fprintf(f.ErrOut, "The pods of %s are gone. This is how their logs ended on cluster %q, as the hub has kept it; the job finished at %s.\n",
		t, tail.Cluster, tail.FinishedAt.Format(time.RFC3339))
	var mu sync.Mutex
	for _, e := range entries {
		text, err := tail.Text(e)
		if err != nil {
			return err
		}
		name := kube.SanitizeForTerminal(e.Pod + "/" + e.Container)
		out := &lineWriter{out: f.Out, mu: &mu}
		if o.Prefix || len(entries) > 1 {
			out.before = fmt.Sprintf("[%s] ", name)
		}
		for _, line := range lastLines(text, o.Tail) {
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		if e.Incomplete != "" {
			fmt.Fprintf(f.ErrOut, "%s may have gone on: %s\n", name, kube.SanitizeForTerminal(e.Incomplete))
		}
	}
	if len(tail.LeftOut) > 0 {
		fmt.Fprintf(f.ErrOut, "Not kept: %s\n", kube.SanitizeForTerminal(strings.Join(tail.LeftOut, "; ")))
	}
	return nil
}

// lastLines are the last lines of a text; all of them if the limit is negative.
func lastLines(text []byte, limit int64) [][]byte {
	lines := slices.DeleteFunc(bytes.SplitAfter(text, []byte{'\n'}), func(line []byte) bool { return len(line) == 0 })
	if limit >= 0 && int64(len(lines)) > limit {
		lines = lines[int64(len(lines))-limit:]
	}
	return lines
}

// keptTail is what the hub has kept of a Workload or, if that is gone, of the last job of that name; nil if there is nothing. The caller's own
// rights on the hub decide.
func (f finder) keptTail(ctx context.Context, j workload.JobRef, uid types.UID) (*kept.Tail, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	options := []client.ListOption{client.InNamespace(f.namespace), client.HasLabels{switchyard.LogTailLabel}}
	if uid != "" {
		options[1] = client.MatchingLabels{switchyard.LogTailLabel: string(uid)}
	}
	if err := kubeclient.ListObjects(ctx, f.hub, list, options...); err != nil {
		return nil, err
	}
	kind := j.Kind()
	name := kept.Job{Kind: strings.TrimSuffix(kind.Kind+"."+kind.Group, "."), Name: j.Name()}.String()
	var last *metav1.PartialObjectMetadata
	for i := range list.Items {
		one := &list.Items[i]
		if !kept.IsOurs(&one.ObjectMeta) || one.Annotations[switchyard.LogTailJobAnnotation] != name {
			continue
		}
		// Times of RFC 3339 in UTC have the order of their texts.
		if last == nil || one.Annotations[switchyard.LogTailTimeAnnotation] > last.Annotations[switchyard.LogTailTimeAnnotation] {
			last = one
		}
	}
	if last == nil {
		return nil, nil
	}
	cm := &corev1.ConfigMap{}
	if err := f.hub.Get(ctx, client.ObjectKeyFromObject(last), cm); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", last.Name, err)
	}
	return kept.Read(cm)
}
