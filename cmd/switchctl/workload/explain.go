package workload

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
	"switchyard.dev/cmd/switchctl/kubeclient"
	"switchyard.dev/cmd/switchctl/show"
)

// NewExplain is the command explain: where a job is, and why it waits.
func NewExplain(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "explain {WORKLOAD | TYPE[.GROUP]/NAME}", Short: "Say where a job is, and why it waits",
		Long: `Say where a job is, and why it is not further: on the hub flavor by flavor, then cluster by cluster. The hub writes what the
clusters say some seconds after it has offered the job to them.`,
		Example: "  switchctl explain job/train\n  switchctl explain jobset/pretrain -n language",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.CompleteNames(func() client.ObjectList { return &kueue.WorkloadList{} }, true),
	}
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		wl, err := FindWorkload(ctx, a, hub, args[0])
		if err != nil {
			return err
		}
		q, err := ExplainQuestion(ctx, hub, wl)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(a.Out, show.Explain(q, a.Now()))
		return nil
	})
	return c
}

// ExplainQuestion collects what the hub knows about a workload. What this user may not read is left out: batch users see neither
// clusters nor checks.
func ExplainQuestion(ctx context.Context, hub *kubeclient.Client, wl *kueue.Workload) (show.Question, error) {
	q := show.Question{Workload: wl}
	local := &kueue.LocalQueue{}
	found, err := kubeclient.GetIfAllowed(ctx, hub, client.ObjectKey{Namespace: wl.Namespace, Name: string(wl.Spec.QueueName)}, local)
	if err != nil {
		return q, err
	}
	name := ""
	if found {
		q.LocalQueue, name = local, string(local.Spec.ClusterQueue)
	}
	if wl.Status.Admission != nil {
		name = string(wl.Status.Admission.ClusterQueue)
	}
	queue := &kueue.ClusterQueue{}
	if found, err = kubeclient.GetIfAllowed(ctx, hub, client.ObjectKey{Name: name}, queue); err != nil {
		return q, err
	} else if found {
		q.ClusterQueue = queue
	}
	var clusters kueue.MultiKueueClusterList
	var configs kueue.MultiKueueConfigList
	var checks kueue.AdmissionCheckList
	for _, list := range []client.ObjectList{&clusters, &configs, &checks} {
		if err := kubeclient.ListObjects(ctx, hub, list); err != nil && exit.Code(err) != exit.Denied {
			return q, err
		}
	}
	q.Clusters, q.Configs, q.Checks = clusters.Items, configs.Items, checks.Items
	if len(q.Checks) == 0 && wl.Status.ClusterName == nil && len(wl.Status.AdmissionChecks) == 1 {
		q.Checks = []kueue.AdmissionCheck{assumedCheck(wl)}
	}
	return q, nil
}

// assumedCheck is the check of a workload for a user who may not read checks: the only one is taken for the dispatcher's.
func assumedCheck(wl *kueue.Workload) kueue.AdmissionCheck {
	check := kueue.AdmissionCheck{Spec: kueue.AdmissionCheckSpec{ControllerName: kueue.MultiKueueControllerName}}
	check.Name = string(wl.Status.AdmissionChecks[0].Name)
	return check
}
