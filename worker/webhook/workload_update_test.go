package webhook

import (
	"fmt"
	"strings"
	"testing"

	kueue "switchyard.dev/apis/kueue/v1beta2"
)

const (
	onTrue   = `conditions: [{type: QuotaReserved, status: "True", reason: R, message: m, lastTransitionTime: "2026-11-21T00:00:00Z"}]`
	onFalse  = `conditions: [{type: QuotaReserved, status: "False", reason: R, message: m, lastTransitionTime: "2026-11-21T00:00:00Z"}]`
	elastic  = `kueue.x-k8s.io/elastic-job: "true"`
	replaces = elastic + `, kueue.x-k8s.io/workload-slice-replacement-for: ns/w`
)

// assigned is an admission of pod set main.
func assigned(assignment string) string {
	return "admission: {clusterQueue: q, podSetAssignments: [{name: main, " + assignment + "}]}"
}

// checked is the state of a check that adds a label to pods.
func checked(state, value string) string {
	return fmt.Sprintf(`admissionChecks: [{name: c, state: %s, message: "", lastTransitionTime: "2026-11-21T00:00:00Z", podSetUpdates: [{name: main, labels: {a: %s}}]}]`, state, value)
}

// ready is a Ready check of that name that updates pods.
func ready(name, update string) string {
	return fmt.Sprintf(`{name: %s, state: Ready, message: "", lastTransitionTime: "2026-11-21T00:00:00Z", podSetUpdates: [{name: main, %s}]}`, name, update)
}

func checks(list ...string) string { return "admissionChecks: [" + strings.Join(list, ", ") + "]" }

func TestUpdatesOfStatus(t *testing.T) {
	for _, c := range []struct{ name, annotations, old, status, want string }{
		{"reserved with an admission", "", onFalse, onTrue + "," + assigned("resourceUsage: {cpu: 4}"), ""},
		{"reserved without an admission", "", onFalse, onTrue, "status.admission Required value: must be set while the QuotaReserved condition is true"},
		{"evicted", "", onTrue + "," + assigned(""), onFalse, ""},
		{"a condition without a reason", "", "", `conditions: [{type: QuotaReserved, status: "True", reason: "", message: m, lastTransitionTime: "2026-11-21T00:00:00Z"}]` + "," + assigned(""), "status.conditions[0].reason Required"},
		{"an assignment of an unknown pod set", "", onFalse, onTrue + ",admission: {clusterQueue: q, podSetAssignments: [{name: other}]}", "status.admission.podSetAssignments[0].name Not found"},
		{"a usage that pods cannot share", "", onFalse, onTrue + "," + assigned("count: 4, resourceUsage: {cpu: 1001m}"), "status.admission.podSetAssignments[0].resourceUsage[cpu] not a multiple of 4"},
		{"a usage without a count", "", onFalse, onTrue + "," + assigned("resourceUsage: {cpu: 1001m}"), ""},
		{"a usage that fewer pods share", "", onFalse, onTrue + "," + assigned("count: 3, resourceUsage: {cpu: 3003m}"), ""},
		{"a usage beyond thousandths", "", onFalse, onTrue + "," + assigned("count: 4, resourceUsage: {memory: 4Ei}"), ""},

		{"another flavor", "", onTrue + "," + assigned("flavors: {cpu: a}"), onTrue + "," + assigned("flavors: {cpu: b}"), "status.admission field is immutable"},
		{"another queue", "", onTrue + "," + assigned(""), onTrue + ", admission: {clusterQueue: r, podSetAssignments: [{name: main}]}", "status.admission field is immutable"},
		{"a late topology", "", onTrue + "," + assigned("delayedTopologyRequest: Pending"), onTrue + "," + assigned("delayedTopologyRequest: Ready, topologyAssignment: {levels: [l], slices: []}"), ""},
		{"another count", "", onTrue + "," + assigned("count: 4"), onTrue + "," + assigned("count: 3"), "status.admission field is immutable"},
		{"a smaller count of an elastic job", elastic, onTrue + "," + assigned("count: 4, resourceUsage: {cpu: 4}"), onTrue + "," + assigned("count: 3, resourceUsage: {cpu: 3}"), ""},
		{"a greater count of an elastic job", elastic, onTrue + "," + assigned("count: 3"), onTrue + "," + assigned("count: 4"), "status.admission field is immutable"},

		{"pods that are done", "", "reclaimablePods: [{name: main, count: 1}]," + onTrue, "reclaimablePods: [{name: main, count: 4}]," + onTrue, ""},
		{"pods of an unknown pod set", "", "", "reclaimablePods: [{name: other, count: 1}]", `status.reclaimablePods[other].name Unsupported value: "other": supported values: "main"`},
		{"more pods than there are", "", "", "reclaimablePods: [{name: main, count: 5}]", "status.reclaimablePods[main].count Invalid value: 5: should be less or equal to 4"},
		{"fewer pods than before while reserved", "", "reclaimablePods: [{name: main, count: 2}]," + onTrue, "reclaimablePods: [{name: main, count: 1}]," + onTrue, "status.reclaimablePods[main].count Invalid value: 1: cannot be less than 2"},
		{"no pods any more while reserved", "", "reclaimablePods: [{name: main, count: 2}]," + onTrue, onTrue, "status.reclaimablePods[main] Required value: cannot be removed"},
		{"no pods any more after an eviction", "", "reclaimablePods: [{name: main, count: 2}]," + onTrue, onFalse, ""},
		{"fewer pods of an elastic job", elastic, "reclaimablePods: [{name: main, count: 2}]," + onTrue, "reclaimablePods: [{name: main, count: 1}]," + onTrue, ""},

		{"updates of pods come with Ready", "", checked("Pending", "x"), checked("Ready", "y"), ""},
		{"updates of pods change while Ready", "", checked("Ready", "x"), checked("Ready", "y"), "status.admissionChecks[0].podSetUpdates field is immutable"},
		{"updates of pods change after Ready", "", checked("Ready", "x"), checked("Retry", "y"), ""},

		{"updates of pods change while Ready, in another order", "", checks(ready("a", ""), ready("b", "labels: {x: y}")), checks(ready("b", ""), ready("a", "")),
			"status.admissionChecks[1].podSetUpdates field is immutable"},
		{"updates of an unknown pod set", "", "", strings.Replace(checks(ready("a", "labels: {}")), "name: main", "name: other", 1), `status.admissionChecks[0].podSetUpdates[0].name Unsupported value: "other": supported values: "main"`},
		{"an update with a bad label", "", "", checks(ready("a", "labels: {x: 'not a value'}")), "status.admissionChecks[0].podSetUpdates[0].labels"},
		{"an update with a bad selector", "", "", checks(ready("a", "nodeSelector: {'no key': x}")), "status.admissionChecks[0].podSetUpdates[0].nodeSelector"},
		{"an update with a bad annotation", "", "", checks(ready("a", "annotations: {'no key': x}")), "status.admissionChecks[0].podSetUpdates[0].annotations"},
		{"an update with a bad toleration", "", "", checks(ready("a", "tolerations: [{operator: Exists}, {key: 'no key', operator: Exists}]")), "status.admissionChecks[0].podSetUpdates[0].tolerations[1].key"},
		{"a pod set named twice", "", "", checks(ready("a", "labels: {x: y}}, {name: main")), ""},
		{"a bad update that was there before", "", checks(ready("a", "labels: {x: 'not a value'}")), checks(ready("a", "labels: {x: 'not a value'}")) + ", clusterName: null", ""},
		{"reserved without an admission as before", "", onTrue, onTrue, ""},
		{"another admission without reservation", "", onFalse + "," + assigned("count: 4"), onFalse + "," + assigned("count: 3"), "status.admission field is immutable"},

		{"a cluster that was nominated", "", "nominatedClusterNames: [a, b]", "clusterName: b", ""},
		{"a cluster that was not nominated", "", "nominatedClusterNames: [a]", "clusterName: b", "status.clusterName when setting clusterName it must be one of the nominatedClusterNames"},
		{"a cluster nominated in the same write", "", "", "clusterName: b", "status.clusterName when setting clusterName it must be one of the nominatedClusterNames"},
		{"the cluster of the slice that is replaced", replaces, "", "clusterName: b", ""},
		{"no cluster any more", "", "clusterName: b", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := "metadata: {annotations: {%s}}\nspec: {podSets: [{name: main, count: 4, template: {}}]}\nstatus: {%s}"
			old := read[kueue.Workload](t, fmt.Sprintf(manifest, c.annotations, c.old))
			workload := read[kueue.Workload](t, fmt.Sprintf(manifest, c.annotations, c.status))
			expect(t, byDefault().ValidateWorkloadUpdate(old, workload), c.want)
		})
	}
}

func TestUpdatesOfSpec(t *testing.T) {
	const gated = "kueue.x-k8s.io/admission-gated-by: "
	for _, c := range []struct{ name, status, oldAnnotations, old, annotations, spec, want string }{
		{"other pods before reservation", onFalse, "", "count: 4", "", "count: 5", ""},
		{"other pods that are wrong", onFalse, "", "count: 4", "", "count: 4, topologyRequest: {podSetSliceSize: 1}", "spec.podSets[0].topologyRequest.podSetSliceSize may not be set when"},
		{"pods that were always wrong", onFalse, "", "topologyRequest: {podSetSliceSize: 1}", "", "topologyRequest: {podSetSliceSize: 1}", ""},
		{"other pods while reserved", onTrue, "", "count: 4", "", "count: 3", "spec.podSets.0 field is immutable"},
		{"fewer pods of an elastic job", onTrue, elastic, "count: 4", elastic, "count: 3", ""},
		{"more pods of an elastic job", onTrue, elastic, "count: 4", elastic, "count: 5", "spec.podSets.0 field is immutable"},
		{"other and fewer pods of an elastic job", onTrue, elastic, "count: 4", elastic, "count: 3, topologyRequest: {}", "spec.podSets.0 field is immutable"},
		{"a gate is removed", "", gated + "'a,b'", "", gated + "'b'", "", ""},
		{"gates are removed", "", gated + "'a,b'", "", "", "", ""},
		{"a gate is added", "", gated + "'a'", "", gated + "'a,b'", "", "metadata.annotations[kueue.x-k8s.io/admission-gated-by] Forbidden: can only remove gates, not add new ones"},
		{"the epoch of a hub's copy falls", "", "switchyard.dev/epoch: '3'", "", "switchyard.dev/epoch: '2'", "", "metadata.annotations[switchyard.dev/epoch] must not fall: it is 3"},
		{"the epoch of a hub's copy rises", "", "switchyard.dev/epoch: '3'", "", "switchyard.dev/epoch: '4'", "", "metadata.annotations[switchyard.dev/epoch] is written once, by the hub that makes the object, and must stay \"3\""},
		{"a first gate is added", "", "", "", gated + "'a'", "", "metadata.annotations[kueue.x-k8s.io/admission-gated-by] Forbidden: cannot add admission gate after creation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := "metadata: {labels: {kueue.x-k8s.io/multikueue-origin: eu}, annotations: {%s}}\nspec: {podSets: [{name: main, template: {}, %s}]}\nstatus: {%s}"
			old := read[kueue.Workload](t, fmt.Sprintf(manifest, c.oldAnnotations, c.old, c.status))
			workload := read[kueue.Workload](t, fmt.Sprintf(manifest, c.annotations, c.spec, c.status))
			expect(t, byDefault().ValidateWorkloadUpdate(old, workload), c.want)
		})
	}
}

func TestABoostThatIsChangedMustBeANumber(t *testing.T) {
	gates := byDefault()
	gates.PriorityBoost = true
	const boost = "metadata: {annotations: {kueue.x-k8s.io/priority-boost: '%s'}}"
	for _, c := range []struct{ name, old, boost, want string }{
		{"to another number", "1", "-7", ""},
		{"to words", "1", "more", "metadata.annotations[kueue.x-k8s.io/priority-boost] must be a valid signed integer"},
		{"not at all, from before the gate", "more", "more", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, workload := read[kueue.Workload](t, fmt.Sprintf(boost, c.old)), read[kueue.Workload](t, fmt.Sprintf(boost, c.boost))
			expect(t, gates.ValidateWorkloadUpdate(old, workload), c.want)
		})
	}
}
