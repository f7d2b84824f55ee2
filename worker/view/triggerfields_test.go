package view

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/admission/usage"
)

// fieldTrigger is a change of one field, and the workloads that are requeued because of it.
type fieldTrigger[T any] struct {
	change func(*T)
	want   []string
}

// fieldPaths lists the paths of a type of ours down to what the API does not define.
func fieldPaths(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), "switchyard.dev/apis") {
		return []string{path}
	}
	var paths []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		paths = append(paths, fieldPaths(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// runFieldTriggers changes each field of a spec in a view in which all workloads are inadmissible. A field without row, and a
// row without field, is an error.
func runFieldTriggers[T, Spec any](t *testing.T, base func() *T, rows map[string]fieldTrigger[T]) {
	t.Helper()
	var spec Spec
	fields := fieldPaths(reflect.TypeOf(spec), "")
	if missing := slices.DeleteFunc(slices.Clone(fields), func(f string) bool { _, ok := rows[f]; return ok }); len(missing) > 0 {
		t.Errorf("no row says who is looked at after a change of %v", missing)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(fields, name) {
				t.Fatal("there is no such field")
			}
			v := newInadmissibleViewWith(Options{PartialAdmission: true, Topologies: true, Usage: &usage.Options{HalfLife: time.Minute, Interval: time.Minute}})
			setObjects(v, base())
			runCycle(v, baseTime)
			runCycle(v, baseTime)
			if got := activeQueues(v, baseTime); got != nil {
				t.Fatalf("%v are awake before anything happened", got)
			}
			changed := base()
			rows[name].change(changed)
			if reflect.DeepEqual(base(), changed) {
				t.Fatal("the row changes nothing")
			}
			setObjects(v, changed)
			got := slices.Sorted(slices.Values(activeQueues(v, baseTime)))
			if want := slices.Sorted(slices.Values(rows[name].want)); !slices.Equal(got, want) {
				t.Errorf("awake are %v, want %v", got, want)
			}
			setObjects(v, changed)
			if got := activeQueues(v, baseTime); len(got) != len(rows[name].want) {
				t.Errorf("the same once more: awake are %v", got)
			}
		})
	}
}

// TestAChangeOfEachFieldOfAClusterQueue: whatever changes in the spec of a queue, its whole tree is looked at (contract:
// kueue-api.md 4.10).
func TestAChangeOfEachFieldOfAClusterQueue(t *testing.T) {
	quota := func(change func(*kueue.ResourceQuota)) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) { change(&cq.Spec.ResourceGroups[0].Flavors[0].Resources[0]) }
	}
	spec := func(change func(*kueue.ClusterQueueSpec)) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) { change(&cq.Spec) }
	}
	preemption := func(p kueue.ClusterQueuePreemption) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) { cq.Spec.Preemption = &p }
	}
	fungibility := func(f kueue.FlavorFungibility) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) { cq.Spec.FlavorFungibility = &f }
	}
	checks := func(rule kueue.AdmissionCheckStrategyRule) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) {
			cq.Spec.AdmissionChecksStrategy = &kueue.AdmissionChecksStrategy{AdmissionChecks: []kueue.AdmissionCheckStrategyRule{rule}}
		}
	}
	migration := func(m kueue.ConcurrentAdmissionMigration) func(*kueue.ClusterQueue) {
		return func(cq *kueue.ClusterQueue) {
			cq.Spec.ConcurrentAdmissionPolicy = &kueue.ConcurrentAdmissionPolicy{Migration: m}
		}
	}
	runFieldTriggers[kueue.ClusterQueue, kueue.ClusterQueueSpec](t, func() *kueue.ClusterQueue { return inadmissibleQueue("a") }, map[string]fieldTrigger[kueue.ClusterQueue]{
		"resourceGroups.coveredResources": {spec(func(s *kueue.ClusterQueueSpec) {
			s.ResourceGroups[0].CoveredResources = append(s.ResourceGroups[0].CoveredResources, "cpu")
		}), cohortTreeQueues},
		"resourceGroups.flavors.name":           {spec(func(s *kueue.ClusterQueueSpec) { s.ResourceGroups[0].Flavors[0].Name = "blue" }), cohortTreeQueues},
		"resourceGroups.flavors.resources.name": {quota(func(q *kueue.ResourceQuota) { q.Name = "cpu" }), cohortTreeQueues},
		"resourceGroups.flavors.resources.nominalQuota": {
			quota(func(q *kueue.ResourceQuota) { q.NominalQuota = resource.MustParse("3") }), cohortTreeQueues,
		},
		"resourceGroups.flavors.resources.borrowingLimit": {
			quota(func(q *kueue.ResourceQuota) { q.BorrowingLimit = ptr.To(resource.MustParse("1")) }), cohortTreeQueues,
		},
		"resourceGroups.flavors.resources.lendingLimit": {
			quota(func(q *kueue.ResourceQuota) { q.LendingLimit = ptr.To(resource.MustParse("1")) }), cohortTreeQueues,
		},
		"cohortName":        {spec(func(s *kueue.ClusterQueueSpec) { s.CohortName = "" }), cohortTreeQueues},
		"queueingStrategy":  {spec(func(s *kueue.ClusterQueueSpec) { s.QueueingStrategy = kueue.StrictFIFO }), cohortTreeQueues},
		"namespaceSelector": {spec(func(s *kueue.ClusterQueueSpec) { s.NamespaceSelector.MatchLabels = map[string]string{"team": "y"} }), []string{"a", "a"}},
		"flavorFungibility.whenCanBorrow": {
			fungibility(kueue.FlavorFungibility{WhenCanBorrow: kueue.TryNextFlavor}), cohortTreeQueues,
		},
		"flavorFungibility.whenCanPreempt": {
			fungibility(kueue.FlavorFungibility{WhenCanPreempt: kueue.MayStopSearch}), cohortTreeQueues,
		},
		"flavorFungibility.preference": {fungibility(kueue.FlavorFungibility{
			WhenCanBorrow: kueue.TryNextFlavor, WhenCanPreempt: kueue.TryNextFlavor, Preference: kueue.PreemptionOverBorrowing,
		}), cohortTreeQueues},
		"preemption.reclaimWithinCohort": {preemption(kueue.ClusterQueuePreemption{ReclaimWithinCohort: kueue.PreemptionPolicyAny}), cohortTreeQueues},
		"preemption.withinClusterQueue":  {preemption(kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}), cohortTreeQueues},
		"preemption.borrowWithinCohort.policy": {preemption(kueue.ClusterQueuePreemption{
			ReclaimWithinCohort: kueue.PreemptionPolicyLowerPriority,
			BorrowWithinCohort:  &kueue.BorrowWithinCohort{Policy: kueue.PreemptionPolicyLowerPriority},
		}), cohortTreeQueues},
		"preemption.borrowWithinCohort.maxPriorityThreshold": {preemption(kueue.ClusterQueuePreemption{
			ReclaimWithinCohort: kueue.PreemptionPolicyLowerPriority,
			BorrowWithinCohort:  &kueue.BorrowWithinCohort{Policy: kueue.PreemptionPolicyLowerPriority, MaxPriorityThreshold: ptr.To(int32(7))},
		}), cohortTreeQueues},
		"admissionChecksStrategy.admissionChecks.name": {checks(kueue.AdmissionCheckStrategyRule{Name: "ok"}), cohortTreeQueues},
		"admissionChecksStrategy.admissionChecks.onFlavors": {
			checks(kueue.AdmissionCheckStrategyRule{Name: "ok", OnFlavors: []kueue.ResourceFlavorReference{"red"}}), cohortTreeQueues,
		},
		"stopPolicy": {spec(func(s *kueue.ClusterQueueSpec) { s.StopPolicy = kueue.Hold }), cohortTreeQueues},
		"fairSharing.weight": {spec(func(s *kueue.ClusterQueueSpec) {
			s.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse("2"))}
		}), cohortTreeQueues},
		"admissionScope.admissionMode": {spec(func(s *kueue.ClusterQueueSpec) {
			s.AdmissionScope = &kueue.AdmissionScope{AdmissionMode: kueue.UsageBasedAdmissionFairSharing}
		}), cohortTreeQueues},
		// Variants of workloads are not made here: nothing follows.
		"concurrentAdmissionPolicy.migration.mode": {migration(kueue.ConcurrentAdmissionMigration{Mode: kueue.TryPreferredFlavors}), nil},
		"concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName": {migration(kueue.ConcurrentAdmissionMigration{
			Mode: kueue.TryPreferredFlavors, Constraints: &kueue.ConcurrentAdmissionMigrationConstraints{LastAcceptableFlavorName: "red"},
		}), nil},
	})
}

func TestAChangeOfEachFieldOfACohort(t *testing.T) {
	group := func(change func(*kueue.ResourceGroup)) func(*kueue.Cohort) {
		return func(c *kueue.Cohort) { change(&c.Spec.ResourceGroups[0]) }
	}
	quota := func(change func(*kueue.ResourceQuota)) func(*kueue.Cohort) {
		return group(func(g *kueue.ResourceGroup) { change(&g.Flavors[0].Resources[0]) })
	}
	base := func() *kueue.Cohort {
		c := &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: "tree"}}
		c.Spec.ResourceGroups = inadmissibleQueue("a").Spec.ResourceGroups
		c.Spec.ResourceGroups[0].Flavors[0].Resources[0].NominalQuota = resource.MustParse("0")
		return c
	}
	runFieldTriggers[kueue.Cohort, kueue.CohortSpec](t, base, map[string]fieldTrigger[kueue.Cohort]{
		"parentName": {func(c *kueue.Cohort) { c.Spec.ParentName = "root" }, cohortTreeQueues},
		"resourceGroups.coveredResources": {
			group(func(g *kueue.ResourceGroup) { g.CoveredResources = append(g.CoveredResources, "cpu") }), cohortTreeQueues,
		},
		"resourceGroups.flavors.name":           {group(func(g *kueue.ResourceGroup) { g.Flavors[0].Name = "blue" }), cohortTreeQueues},
		"resourceGroups.flavors.resources.name": {quota(func(q *kueue.ResourceQuota) { q.Name = "cpu" }), cohortTreeQueues},
		"resourceGroups.flavors.resources.nominalQuota": {
			quota(func(q *kueue.ResourceQuota) { q.NominalQuota = resource.MustParse("1") }), cohortTreeQueues,
		},
		"resourceGroups.flavors.resources.borrowingLimit": {
			quota(func(q *kueue.ResourceQuota) { q.BorrowingLimit = ptr.To(resource.MustParse("1")) }), cohortTreeQueues,
		},
		"resourceGroups.flavors.resources.lendingLimit": {
			quota(func(q *kueue.ResourceQuota) { q.LendingLimit = ptr.To(resource.MustParse("1")) }), cohortTreeQueues,
		},
		"fairSharing.weight": {func(c *kueue.Cohort) {
			c.Spec.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse("2"))}
		}, cohortTreeQueues},
	})
}

func TestAChangeOfEachFieldOfALocalQueue(t *testing.T) {
	own := []string{"a", "a"}
	runFieldTriggers[kueue.LocalQueue, kueue.LocalQueueSpec](t, func() *kueue.LocalQueue { return testLocalQueue("lq-a", "a") }, map[string]fieldTrigger[kueue.LocalQueue]{
		"clusterQueue": {func(lq *kueue.LocalQueue) { lq.Spec.ClusterQueue = "b" }, nil}, // They join kinds that are parked there.
		"stopPolicy":   {func(lq *kueue.LocalQueue) { lq.Spec.StopPolicy = kueue.Hold }, own},
		"fairSharing.weight": {func(lq *kueue.LocalQueue) {
			lq.Spec.FairSharing = &kueue.FairSharing{Weight: ptr.To(resource.MustParse("2"))}
		}, nil},
	})
}

func TestAChangeOfEachFieldOfAFlavor(t *testing.T) {
	runFieldTriggers[kueue.ResourceFlavor, kueue.ResourceFlavorSpec](t, func() *kueue.ResourceFlavor { return testFlavor("red") }, map[string]fieldTrigger[kueue.ResourceFlavor]{
		"nodeLabels": {func(f *kueue.ResourceFlavor) { f.Spec.NodeLabels = map[string]string{"gpu": "h100"} }, allQueues},
		"nodeTaints": {func(f *kueue.ResourceFlavor) {
			f.Spec.NodeTaints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}, allQueues},
		"tolerations": {func(f *kueue.ResourceFlavor) {
			f.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
		}, allQueues},
		"topologyName": {func(f *kueue.ResourceFlavor) { f.Spec.TopologyName = "racks" }, allQueues},
	})
}

func TestAChangeOfEachFieldOfAWorkloadThatWaits(t *testing.T) {
	own := []string{"a"}
	podSet := func(change func(*kueue.PodSet)) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { wl.ResourceVersion = "2"; change(&wl.Spec.PodSets[0]) }
	}
	spec := func(change func(*kueue.WorkloadSpec)) func(*kueue.Workload) {
		return func(wl *kueue.Workload) { wl.ResourceVersion = "2"; change(&wl.Spec) }
	}
	topology := func(change func(*kueue.PodSetTopologyRequest)) func(*kueue.Workload) {
		return podSet(func(ps *kueue.PodSet) {
			ps.TopologyRequest = &kueue.PodSetTopologyRequest{}
			change(ps.TopologyRequest)
		})
	}
	class := func(ref kueue.PriorityClassRef) func(*kueue.Workload) {
		return spec(func(s *kueue.WorkloadSpec) { s.PriorityClassRef = &ref })
	}
	word := ptr.To("word")
	runFieldTriggers[kueue.Workload, kueue.WorkloadSpec](t, func() *kueue.Workload { return inadmissibleWorkload("a", 2, 1) }, map[string]fieldTrigger[kueue.Workload]{
		"podSets.name":     {podSet(func(ps *kueue.PodSet) { ps.Name = "other" }), own},
		"podSets.template": {podSet(func(ps *kueue.PodSet) { ps.Template.Spec.NodeSelector = map[string]string{"gpu": "h100"} }), own},
		"podSets.count":    {podSet(func(ps *kueue.PodSet) { ps.Count = 1 }), own},
		"podSets.minCount": {podSet(func(ps *kueue.PodSet) { ps.MinCount = ptr.To(int32(1)) }), own},
		"queueName":        {spec(func(s *kueue.WorkloadSpec) { s.QueueName = "lq-b" }), nil}, // It joins a kind that is parked there.
		"priority":         {spec(func(s *kueue.WorkloadSpec) { s.Priority = ptr.To(int32(9)) }), own},
		// The priority counts, which a controller of the class writes.
		"priorityClassRef.group":      {class(kueue.PriorityClassRef{Group: kueue.WorkloadPriorityClassGroup}), nil},
		"priorityClassRef.kind":       {class(kueue.PriorityClassRef{Kind: kueue.WorkloadPriorityClassKind}), nil},
		"priorityClassRef.name":       {class(kueue.PriorityClassRef{Name: "high"}), nil},
		"active":                      {spec(func(s *kueue.WorkloadSpec) { s.Active = ptr.To(false) }), nil},
		"maximumExecutionTimeSeconds": {spec(func(s *kueue.WorkloadSpec) { s.MaximumExecutionTimeSeconds = ptr.To(int32(9)) }), nil},
		"preemptionGates.name":        {spec(func(s *kueue.WorkloadSpec) { s.PreemptionGates = []kueue.PreemptionGate{{Name: "gate"}} }), own},

		// Nothing is placed by topologies here: but for the groups that share flavors nothing follows.
		"podSets.topologyRequest.required":                    {topology(func(r *kueue.PodSetTopologyRequest) { r.Required = word }), nil},
		"podSets.topologyRequest.preferred":                   {topology(func(r *kueue.PodSetTopologyRequest) { r.Preferred = word }), nil},
		"podSets.topologyRequest.unconstrained":               {topology(func(r *kueue.PodSetTopologyRequest) { r.Unconstrained = ptr.To(true) }), nil},
		"podSets.topologyRequest.podIndexLabel":               {topology(func(r *kueue.PodSetTopologyRequest) { r.PodIndexLabel = word }), nil},
		"podSets.topologyRequest.subGroupIndexLabel":          {topology(func(r *kueue.PodSetTopologyRequest) { r.SubGroupIndexLabel = word }), nil},
		"podSets.topologyRequest.subGroupCount":               {topology(func(r *kueue.PodSetTopologyRequest) { r.SubGroupCount = ptr.To(int32(2)) }), nil},
		"podSets.topologyRequest.podSetGroupName":             {topology(func(r *kueue.PodSetTopologyRequest) { r.PodSetGroupName = word }), own},
		"podSets.topologyRequest.podSetSliceRequiredTopology": {topology(func(r *kueue.PodSetTopologyRequest) { r.PodSetSliceRequiredTopology = word }), nil},
		"podSets.topologyRequest.podSetSliceSize":             {topology(func(r *kueue.PodSetTopologyRequest) { r.PodSetSliceSize = ptr.To(int32(2)) }), nil},
		"podSets.topologyRequest.podsetSliceRequiredTopologyConstraints.topology": {topology(func(r *kueue.PodSetTopologyRequest) {
			r.PodsetSliceRequiredTopologyConstraints = []kueue.PodsetSliceRequiredTopologyConstraint{{Topology: "rack"}}
		}), nil},
		"podSets.topologyRequest.podsetSliceRequiredTopologyConstraints.size": {topology(func(r *kueue.PodSetTopologyRequest) {
			r.PodsetSliceRequiredTopologyConstraints = []kueue.PodsetSliceRequiredTopologyConstraint{{Size: 2}}
		}), nil},
	})
}
