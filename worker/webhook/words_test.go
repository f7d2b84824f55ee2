package webhook

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"switchyard.dev/apis/kueue/contracttest"
	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// everyGate has all rules on.
func everyGate() Gates {
	g := byDefault()
	g.Variants, g.PriorityBoost, g.Elastic = true, true, true
	return g
}

// refusals are what is said of each object by name. There must be one thing wrong with it.
type refusals map[string]contracttest.Said

func (r refusals) add(t *testing.T, name string, all field.ErrorList) {
	t.Helper()
	if len(all) != 1 {
		t.Errorf("%s: refused for %v", name, all)
		return
	}
	r[name] = contracttest.Said{Kind: all[0].Field, Text: all[0].ErrorBody()}
}

func TestWhatIsSaidOfClusterQueuesThatAreRefused(t *testing.T) {
	const (
		retain = `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}`
		try    = `, concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors, constraints: {lastAcceptableFlavorName: c}}}`
	)
	of := func(quota string) string {
		return "resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, " + quota + "}]}]}]"
	}
	got := refusals{}
	for name, spec := range map[string]string{
		"resource twice":              quotas("cpu: a", "cpu: b"),
		"flavor twice":                quotas("cpu: a", "memory: a"),
		"another order":               `resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: a, resources: [{name: memory, nominalQuota: 1}, {name: memory, nominalQuota: 1}]}]}]`,
		"negative quota":              of(`nominalQuota: "-1"`),
		"limit without cohort":        of("nominalQuota: 1, lendingLimit: 1"),
		"lending too much":            "cohortName: c, " + of("nominalQuota: 4, lendingLimit: 5"),
		"negative weight":             `fairSharing: {weight: "-1"}`,
		"small weight":                `fairSharing: {weight: 1n}`,
		"many flavors":                quotas("cpu: "+numbered("a", 0, 129), "memory: "+numbered("b", 0, 128)),
		"many resources":              quotas(numbered("r", 0, 129)+": a", numbered("s", 0, 128)+": b"),
		"many pairs":                  quotas(numbered("r", 0, 57) + ": " + numbered("f", 0, 9)),
		"check on no flavor of it":    quotas("cpu: b a") + `, admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [c]}]}`,
		"variants in two groups":      quotas("cpu: a", "memory: b") + retain,
		"variants in many flavors":    quotas("cpu: "+numbered("f", 0, 17)) + retain,
		"constraints on no migration": quotas("cpu: a") + `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission, constraints: {lastAcceptableFlavorName: a}}}`,
		"no such last flavor":         quotas("cpu: b a") + try,
		"variants in strict order":    quotas("cpu: a") + `, queueingStrategy: StrictFIFO` + retain,
	} {
		got.add(t, name, everyGate().ValidateClusterQueue(read[kueue.ClusterQueue](t, "spec: {"+spec+"}")))
	}
	old := read[kueue.ClusterQueue](t, "spec: {"+quotas("cpu: a")+retain+"}")
	changed := read[kueue.ClusterQueue](t, "spec: {"+quotas("cpu: a")+`, concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}}`)
	got.add(t, "variants change", byDefault().ValidateClusterQueueUpdate(old, changed))
	contracttest.Compare(t, "cluster queues refused", got)
}

func TestWhatIsSaidOfCohortsAndFlavorsThatAreRefused(t *testing.T) {
	got := refusals{}
	for name, spec := range map[string]string{
		"cohort limit without parent": "resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 1}]}]}]",
		"cohort weight":               `fairSharing: {weight: "-1"}`,
	} {
		got.add(t, name, ValidateCohort(read[kueue.Cohort](t, "spec: {"+spec+"}")))
	}
	for name, spec := range map[string]string{
		"taint key":      `nodeTaints: [{key: "@", effect: NoSchedule}]`,
		"taint value":    `nodeTaints: [{key: a, value: "@", effect: NoSchedule}]`,
		"taint twice":    `nodeTaints: [{key: a, value: x, effect: NoSchedule}, {key: a, value: "y", effect: NoSchedule}]`,
		"toleration key": `tolerations: [{key: "@", operator: Exists}]`,
	} {
		got.add(t, name, ValidateResourceFlavor(read[kueue.ResourceFlavor](t, "spec: {"+spec+"}")))
	}
	contracttest.Compare(t, "others refused", got)
}

func TestWhatIsSaidOfWorkloadsThatAreRefused(t *testing.T) {
	const gates, boost = "kueue.x-k8s.io/admission-gated-by: ", "kueue.x-k8s.io/priority-boost: "
	pods := func(containers string) string {
		return "podSets: [{name: main, count: 4, template: {spec: {" + containers + "}}}]"
	}
	slices := func(request string) string {
		return "podSets: [{name: main, count: 4, template: {}, topologyRequest: {" + request + "}}]"
	}
	got := refusals{}
	for name, c := range map[string][2]string{
		"pods requested":           {"", pods("containers: [{name: c, resources: {requests: {pods: 1}}}]")},
		"pods in limits":           {"", pods("initContainers: [{name: c, resources: {limits: {pods: 1}}}]")},
		"negative request":         {"", pods(`containers: [{name: c, resources: {requests: {cpu: "-1"}}}]`)},
		"slices without size":      {"", slices("podSetSliceRequiredTopology: rack")},
		"slices of nothing":        {"", slices("podSetSliceRequiredTopology: rack, podSetSliceSize: 0")},
		"size without slices":      {"", slices("podSetSliceSize: 2")},
		"layer of nothing":         {"", slices("podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 0}]")},
		"two least counts":         {"", "podSets: [{name: a, count: 2, minCount: 1, template: {}}, {name: b, count: 2, minCount: 1, template: {}}]"},
		"elastic with least count": {elastic, "podSets: [{name: a, count: 2, minCount: 1, template: {}}]"},
		"gate without name":        {gates + "'a.io/x,'", ""},
		"gate twice":               {gates + "'a.io/x,a.io/x'", ""},
		"gate without domain":      {gates + "x", ""},
		"boost in words":           {boost + "much", ""},
		"empty boost":              {boost + "''", ""},
	} {
		w := read[kueue.Workload](t, fmt.Sprintf("metadata: {annotations: {%s}}\nspec: {%s}", c[0], c[1]))
		got.add(t, name, everyGate().ValidateWorkload(w))
	}
	contracttest.Compare(t, "workloads refused", got)
}

func TestWhatIsSaidOfChangesOfWorkloadsThatAreRefused(t *testing.T) {
	const gates, four = "kueue.x-k8s.io/admission-gated-by: ", "{name: main, count: 4, template: {}}"
	workload := func(annotations, podSets, status string) *kueue.Workload {
		return read[kueue.Workload](t, fmt.Sprintf("metadata: {annotations: {%s}}\nspec: {podSets: [%s]}\nstatus: {%s}", annotations, podSets, status))
	}
	status := func(status string) *kueue.Workload { return workload("", four, status) }
	reserved := onTrue + "," + assigned("count: 4")
	got := refusals{}
	for name, c := range map[string][2]*kueue.Workload{
		"pod set while reserved":     {status(reserved), workload("", "{name: main, count: 5, template: {}}", reserved)},
		"pod sets while reserved":    {status(reserved), workload("", "", reserved)},
		"first gate":                 {status(""), workload(gates+"a.io/x", four, "")},
		"another gate":               {workload(gates+"a.io/x", four, ""), workload(gates+"'a.io/x,a.io/y'", four, "")},
		"reserved without admission": {status(onFalse), status(onTrue)},
		"unknown assignment":         {status(onFalse), status(onTrue + ",admission: {clusterQueue: q, podSetAssignments: [{name: other}]}")},
		"usage of no pods":           {status(onFalse), status(onTrue + "," + assigned("count: 4, resourceUsage: {cpu: 1001m}"))},
		"reclaimed of unknown":       {status(""), status("reclaimablePods: [{name: other, count: 1}]")},
		"reclaimed too many":         {status(""), status("reclaimablePods: [{name: main, count: 5}]")},
		"reclaimed fewer":            {status(reserved + ", reclaimablePods: [{name: main, count: 2}]"), status(reserved + ", reclaimablePods: [{name: main, count: 1}]")},
		"reclaimed none":             {status(reserved + ", reclaimablePods: [{name: main, count: 2}]"), status(reserved)},
		"update of unknown":          {status(""), status(`admissionChecks: [{name: c, state: Ready, message: "", lastTransitionTime: "2026-11-21T00:00:00Z", podSetUpdates: [{name: other}]}]`)},
		"cluster not nominated":      {status("nominatedClusterNames: [a]"), status("clusterName: b")},
	} {
		got.add(t, name, everyGate().ValidateWorkloadUpdate(c[0], c[1]))
	}
	contracttest.Compare(t, "workload changes refused", got)
}
