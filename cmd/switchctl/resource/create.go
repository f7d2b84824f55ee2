package resource

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/cmd/switchctl/cli"
	"switchyard.dev/cmd/switchctl/exit"
)

// NewCreate creates queues and flavors, with kueuectl's names and flags (contract: kueue-api.md 8.1).
func NewCreate(a *cli.App) *cobra.Command {
	return cli.NewGroupCommand("create", "Create queues and flavors", newCreateClusterQueue(a), newCreateLocalQueue(a), newCreateFlavor(a))
}

// newCreateLocalQueue is "create localqueue". It refuses a ClusterQueue that does not exist unless it is told not to.
func newCreateLocalQueue(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindLocalQueue, "NAME", "Create a LocalQueue")
	c.Example = "  switchctl create localqueue train -c gpus -n vision"
	c.Args = cobra.ExactArgs(1)
	o := cli.NewChangeOptions(c, "created")
	queue := c.Flags().StringP("clusterqueue", "c", "", "The ClusterQueue that it leads to")
	unknown := c.Flags().BoolP("ignore-unknown-cq", "i", false, "Create it even if there is no such ClusterQueue")
	_ = c.MarkFlagRequired("clusterqueue")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		namespace, err := a.Namespace()
		if err != nil {
			return err
		}
		if !*unknown {
			if err := hub.Get(ctx, client.ObjectKey{Name: *queue}, &kueue.ClusterQueue{}); err != nil {
				return fmt.Errorf("read ClusterQueue %s (see --ignore-unknown-cq): %w", *queue, err)
			}
		}
		return a.CreateObject(ctx, hub, &kueue.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: args[0]},
			Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(*queue)},
		}, o)
	})
	return c
}

type clusterQueueFlags struct {
	cohort, strategy, reclaim, within string
	namespaces                        map[string]string
	nominal, borrowing, lending       []string
}

// newCreateClusterQueue is "create clusterqueue".
func newCreateClusterQueue(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindClusterQueue, "NAME", "Create a ClusterQueue")
	c.Long = `Create a ClusterQueue. Quotas are given as FLAVOR:RESOURCE=QUANTITY[;RESOURCE=QUANTITY...], one or more, separated by commas;
flavors with the same resources become one resource group. Without --namespace-selector every namespace may use it.`
	c.Example = `  switchctl create clusterqueue gpus --cohort research --nominal-quota "h100:cpu=64;nvidia.com/gpu=8,l4:cpu=64;nvidia.com/gpu=4"`
	c.Args = cobra.ExactArgs(1)
	o := cli.NewChangeOptions(c, "created")
	f := &clusterQueueFlags{}
	flags := c.Flags()
	flags.StringVar(&f.cohort, "cohort", "", "The cohort that it belongs to")
	flags.StringVar(&f.strategy, "queuing-strategy", string(kueue.BestEffortFIFO), "StrictFIFO or BestEffortFIFO")
	flags.StringToStringVar(&f.namespaces, "namespace-selector", nil, "Labels of the namespaces that may use it")
	flags.StringVar(&f.reclaim, "reclaim-within-cohort", string(kueue.PreemptionPolicyNever), "Never, LowerPriority or Any")
	flags.StringVar(&f.within, "preemption-within-cluster-queue", string(kueue.PreemptionPolicyNever), "Never, LowerPriority or LowerOrNewerEqualPriority")
	flags.StringSliceVar(&f.nominal, "nominal-quota", nil, "FLAVOR:RESOURCE=QUANTITY[;...]: what it owns")
	flags.StringSliceVar(&f.borrowing, "borrowing-limit", nil, "FLAVOR:RESOURCE=QUANTITY[;...]: the most it may borrow")
	flags.StringSliceVar(&f.lending, "lending-limit", nil, "FLAVOR:RESOURCE=QUANTITY[;...]: the most it lends")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		queue, err := f.buildClusterQueue(args[0])
		if err != nil {
			return err
		}
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		return a.CreateObject(ctx, hub, queue, o)
	})
	return c
}

// buildClusterQueue is the ClusterQueue that the flags describe.
func (f *clusterQueueFlags) buildClusterQueue(name string) (*kueue.ClusterQueue, error) {
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"queuing-strategy", f.strategy, []string{string(kueue.StrictFIFO), string(kueue.BestEffortFIFO)}},
		{"reclaim-within-cohort", f.reclaim, []string{"Never", "LowerPriority", "Any"}},
		{"preemption-within-cluster-queue", f.within, []string{"Never", "LowerPriority", "LowerOrNewerEqualPriority"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return nil, exit.Usagef("--%s %s: want one of %v", choice.flag, choice.value, choice.of)
		}
	}
	if f.cohort == "" && len(f.borrowing)+len(f.lending) > 0 {
		return nil, exit.Usagef("--borrowing-limit and --lending-limit need a --cohort to borrow from and to lend to")
	}
	groups, err := resourceGroups(f.nominal, f.borrowing, f.lending)
	if err != nil {
		return nil, err
	}
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueue.ClusterQueueSpec{
			CohortName: kueue.CohortReference(f.cohort), QueueingStrategy: kueue.QueueingStrategy(f.strategy), ResourceGroups: groups,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: f.namespaces},
			Preemption: &kueue.ClusterQueuePreemption{
				ReclaimWithinCohort: kueue.PreemptionPolicy(f.reclaim), WithinClusterQueue: kueue.PreemptionPolicy(f.within),
			},
		},
	}, nil
}

// newCreateFlavor is "create resourceflavor".
func newCreateFlavor(a *cli.App) *cobra.Command {
	c := cli.NewKindCommand(cli.KindFlavor, "NAME", "Create a ResourceFlavor")
	c.Example = "  switchctl create resourceflavor h100 --node-labels gpu.nvidia.com/class=H100 --tolerations nvidia.com/gpu:NoSchedule"
	c.Args = cobra.ExactArgs(1)
	o := cli.NewChangeOptions(c, "created")
	labels := c.Flags().StringToString("node-labels", nil, "Labels of the flavor's nodes")
	taints := c.Flags().StringSlice("node-taints", nil, "KEY[=VALUE]:EFFECT: taints of the flavor's nodes")
	tolerations := c.Flags().StringSlice("tolerations", nil, "KEY[=VALUE][:EFFECT]: tolerations that pods get with the flavor")
	c.RunE = a.RunE(func(ctx context.Context, args []string) error {
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: args[0]}, Spec: kueue.ResourceFlavorSpec{NodeLabels: *labels}}
		for _, text := range *taints {
			taint, err := parseTaint(text)
			if err != nil {
				return err
			}
			flavor.Spec.NodeTaints = append(flavor.Spec.NodeTaints, taint)
		}
		for _, text := range *tolerations {
			toleration, err := parseToleration(text)
			if err != nil {
				return err
			}
			flavor.Spec.Tolerations = append(flavor.Spec.Tolerations, toleration)
		}
		hub, err := a.Clusters.Hub()
		if err != nil {
			return err
		}
		return a.CreateObject(ctx, hub, flavor, o)
	})
	return c
}
