package webhook

import (
	"fmt"
	"strings"
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

// quotas is a list of groups, one for each argument "resources: flavor flavor".
func quotas(groups ...string) string {
	var all []string
	for _, group := range groups {
		covered, names, _ := strings.Cut(group, ": ")
		var resources, flavors []string
		for _, name := range strings.Fields(covered) {
			resources = append(resources, fmt.Sprintf("{name: %s, nominalQuota: 4}", name))
		}
		for _, name := range strings.Fields(names) {
			flavors = append(flavors, fmt.Sprintf("{name: %s, resources: [%s]}", name, strings.Join(resources, ",")))
		}
		all = append(all, fmt.Sprintf("{coveredResources: [%s], flavors: [%s]}", strings.Join(strings.Fields(covered), ","), strings.Join(flavors, ",")))
	}
	return "resourceGroups: [" + strings.Join(all, ",") + "]"
}

// numbered is n names that begin alike.
func numbered(name string, from, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(name, from+i))
	}
	return strings.Join(all, " ")
}

func TestClusterQueues(t *testing.T) {
	limits := func(limits string) string {
		return fmt.Sprintf("cohortName: c, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4, %s}]}]}]", limits)
	}
	for _, c := range []struct{ name, spec, want string }{
		{"without anything", ``, ""},
		{"with two groups", quotas("cpu memory: a b", "nvidia.com/gpu: c"), ""},
		{"a resource in two groups", quotas("cpu: a", "cpu: b"), "spec.resourceGroups[1].coveredResources[0] Duplicate"},
		{"a resource twice in a group", `resourceGroups: [{coveredResources: [cpu, cpu], flavors: []}]`, "spec.resourceGroups[0].coveredResources[1] Duplicate"},
		{"a flavor in two groups", quotas("cpu: a", "memory: a"), "spec.resourceGroups[1].flavors[0].name Duplicate"},
		{"a resource that is no label key", `resourceGroups: [{coveredResources: ["@cpu"], flavors: []}]`, "spec.resourceGroups[0].coveredResources[0] must consist of alphanumeric"},
		{"resources of a flavor in another order", `resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: a, resources: [{name: memory, nominalQuota: 1}, {name: memory, nominalQuota: 1}]}]}]`,
			"spec.resourceGroups[0].flavors[0].resources[0].name must match the name in coveredResources"},
		{"more flavors than 256", quotas("cpu: "+numbered("a", 0, 129), "memory: "+numbered("b", 0, 128)), "spec.resourceGroups total number of flavors across all resourceGroups must be ≤ 256, got 257"},
		{"as many flavors as 256", quotas("cpu: "+numbered("a", 0, 128), "memory: "+numbered("b", 0, 128)), ""},
		{"more resources than 256", quotas(numbered("r", 0, 129)+": a", numbered("s", 0, 128)+": b"), "spec.resourceGroups total number of covered resources across all resourceGroups must be ≤ 256, got 257"},
		{"more than 512 pairs in a group", quotas(numbered("r", 0, 57) + ": " + numbered("f", 0, 9)), "spec.resourceGroups[0] number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 513"},
		{"a negative quota", `resourceGroups: [{coveredResources: [cpu], flavors: [{name: a, resources: [{name: cpu, nominalQuota: "-1"}]}]}]`, "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota must be greater than or equal to 0"},
		{"a negative limit", limits(`borrowingLimit: "-1"`), "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit must be greater"},
		{"limits in a cohort", limits("borrowingLimit: 8, lendingLimit: 4"), ""},
		{"lending more than it owns", limits("lendingLimit: 5"), "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit less than or equal to the nominalQuota"},
		{"a limit without a cohort", strings.TrimPrefix(limits("lendingLimit: 1"), "cohortName: c, "), "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit must be nil when cohort is empty"},
		{"a selector that does not parse", `namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}`, "spec.namespaceSelector.matchExpressions[0].operator not a valid"},
		{"a weight of zero", `fairSharing: {weight: 0}`, ""},
		{"a negative weight", `fairSharing: {weight: "-1"}`, "spec.fairSharing must be greater than or equal to 0"},
		{"a weight too small", `fairSharing: {weight: 1n}`, "spec.fairSharing When not 0, weight must be > 10e-9"},
		{"a check on a flavor it has", quotas("cpu: a") + `, admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [a]}]}`, ""},
		{"a check on a flavor it has not", quotas("cpu: a") + `, admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [b]}]}`, "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0] Unsupported value: \"b\": supported values: \"a\""},
		{"a race", quotas("cpu: a b") + `, concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors, constraints: {lastAcceptableFlavorName: b}}}`, ""},
		{"a race in two groups", quotas("cpu: a", "memory: b") + `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}`, "spec.resourceGroups must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined"},
		{"a race in too many flavors", quotas("cpu: "+numbered("f", 0, 17)) + `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}`, "spec.resourceGroups[0].flavors cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined"},
		{"a race in strict order", quotas("cpu: a") + `, queueingStrategy: StrictFIFO, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}`, "spec.queueingStrategy StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined"},
		{"constraints on a race that stops", quotas("cpu: a") + `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission, constraints: {lastAcceptableFlavorName: a}}}`, "spec.concurrentAdmissionPolicy.migration.constraints may only be set when migration.mode is \"TryPreferredFlavors\" (got \"RetainFirstAdmission\")"},
		{"a last flavor it has not", quotas("cpu: a") + `, concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors, constraints: {lastAcceptableFlavorName: b}}}`, "spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName must be one of the flavors defined in the ClusterQueue: [a]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			queue := read[kueue.ClusterQueue](t, "spec: {"+c.spec+"}")
			gates := byDefault()
			gates.Variants = true
			expect(t, gates.ValidateClusterQueue(queue), c.want)
			if !strings.Contains(c.name, "it has not") {
				expect(t, gates.ValidateClusterQueueUpdate(queue, queue), c.want)
			}
		})
	}
}

func TestUpdatesOfClusterQueues(t *testing.T) {
	const (
		onA    = `, admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [gone]}]}`
		onB    = `, admissionChecksStrategy: {admissionChecks: [{name: c, onFlavors: [gone, unknown]}]}`
		retain = `, concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}`
		try    = `, concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}`
	)
	strict := byDefault()
	strict.StrictOnFlavors = true
	for _, c := range []struct {
		name, old, spec string
		gates           Gates
		want            string
	}{
		{"a flavor that is gone stays named", onA, onA, byDefault(), ""},
		{"a flavor that was never there is named", onA, onB, byDefault(), "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1] Unsupported value: \"unknown\""},
		{"a flavor that is gone stays named, strictly", onA, onA, strict, "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0] Unsupported value: \"gone\""},
		{"a race is stopped", retain, "", byDefault(), "spec.concurrentAdmissionPolicy immutable"},
		{"a race changes its mode", retain, try, byDefault(), "spec.concurrentAdmissionPolicy immutable"},
		{"a race goes on", retain, retain, byDefault(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := read[kueue.ClusterQueue](t, "spec: {"+quotas("cpu: a")+c.old+"}")
			queue := read[kueue.ClusterQueue](t, "spec: {"+quotas("cpu: a")+c.spec+"}")
			expect(t, c.gates.ValidateClusterQueueUpdate(old, queue), c.want)
		})
	}
}

func TestCohorts(t *testing.T) {
	limits := func(limits string) string {
		return fmt.Sprintf("resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4, %s}]}]}]", limits)
	}
	for _, c := range []struct{ name, spec, want string }{
		{"without anything", ``, ""},
		{"its own parent, which makes its queues inactive", `parentName: c`, ""},
		{"lending more than it owns", `parentName: p, ` + limits("lendingLimit: 9"), ""},
		{"a limit without a parent", limits("borrowingLimit: 9"), "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit must be nil"},
		{"a flavor in two groups", quotas("cpu: a", "memory: a"), "spec.resourceGroups[1].flavors[0].name Duplicate"},
		{"a negative weight", `fairSharing: {weight: "-1"}`, "spec.fairSharing must be greater than or equal to 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, ValidateCohort(read[kueue.Cohort](t, "metadata: {name: c}\nspec: {"+c.spec+"}")), c.want)
		})
	}
}

func TestResourceFlavors(t *testing.T) {
	for _, c := range []struct{ name, spec, want string }{
		{"with labels and taints", `nodeLabels: {a: b}, nodeTaints: [{key: k, effect: NoSchedule}, {key: k, effect: NoExecute}]`, ""},
		{"a label that is none", `nodeLabels: {"@a": b}`, "spec.nodeLabels must consist of"},
		{"a value that is none", `nodeLabels: {a: "@b"}`, "spec.nodeLabels valid label must be"},
		{"a taint twice", `nodeTaints: [{key: k, value: a, effect: NoSchedule}, {key: k, value: b, effect: NoSchedule}]`, "spec.nodeTaints[1] Duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, ValidateResourceFlavor(read[kueue.ResourceFlavor](t, "spec: {"+c.spec+"}")), c.want)
		})
	}
}
