package config_test

import (
	"fmt"
	"strings"
)

const (
	template  = `template: {spec: {containers: [{name: c, image: i}]}}`
	timestamp = `"2026-11-21T00:00:00Z"`
)

func condition(kind string) string {
	return fmt.Sprintf(`{type: %s, status: "True", reason: R, message: "", lastTransitionTime: %s}`, kind, timestamp)
}

// workload is a Workload of one pod set; conditions are types that are True.
func workload(spec, status string, conditions ...string) string {
	var all []string
	for _, kind := range conditions {
		all = append(all, condition(kind))
	}
	return fmt.Sprintf("metadata: {name: w}\nspec: {podSets: [{%s}], %s}\nstatus: {conditions: [%s], %s}\n",
		template, spec, strings.Join(all, ","), status)
}

func workloadRules() []ruleCase {
	const (
		kind      = "Workload/v1beta2"
		wpc       = `priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: a}`
		otherWPC  = `priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: b}`
		pod       = `priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: a}`
		otherPod  = `priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: b}`
		admission = `admission: {clusterQueue: q, podSetAssignments: [{name: main}]}`
	)
	cases := []ruleCase{
		{name: "defaults fill what is not said", object: workload("", "")},
		{name: "a class needs a priority", object: workload(strings.TrimPrefix(wpc, "priority: 1, "), ""), want: "priority should not be nil"},
		{name: "a class with a priority", object: workload(wpc, "")},
		{name: "a kind of another group", object: workload(`priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: PriorityClass, name: a}`, ""), want: "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"},
		{name: "a group of another kind", object: workload(`priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: WorkloadPriorityClass, name: a}`, ""), want: "only the PriorityClass kind is allowed for the scheduling.k8s.io group"},
		{name: "as many assignments as pod sets", object: workload("", admission, "QuotaReserved")},
		{name: "fewer assignments than pod sets", object: workload("", "admission: {clusterQueue: q}", "QuotaReserved"), want: "podSetAssignments must have the same number of podSets"},
		{name: "assignments do not count without reservation", object: workload("", "admission: {clusterQueue: q}")},

		{name: "a class comes before reservation", old: workload("", ""), object: workload(wpc, "")},
		{name: "a class comes after reservation", old: workload("", "", "QuotaReserved"), object: workload(wpc, "", "QuotaReserved"), want: "priorityClassRef is immutable while workload quota reserved"},
		{name: "a class goes after reservation", old: workload(wpc, "", "QuotaReserved"), object: workload("priority: 1", "", "QuotaReserved"), want: "priorityClassRef is immutable while workload quota reserved"},
		{name: "a class becomes one of another group", old: workload(wpc, "", "QuotaReserved"), object: workload(pod, "", "QuotaReserved"), want: "priorityClassRef.group is immutable"},
		{name: "a class becomes one of another kind", old: workload(pod, "", "QuotaReserved"), object: workload(wpc, "", "QuotaReserved"), want: "priorityClassRef.kind is immutable"},
		{name: "a workload class changes its name", old: workload(wpc, "", "QuotaReserved"), object: workload(otherWPC, "", "QuotaReserved")},
		{name: "a pod class changes its name", old: workload(pod, "", "QuotaReserved"), object: workload(otherPod, "", "QuotaReserved"), want: "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved"},
		{name: "a pod class changes its name before reservation", old: workload(pod, ""), object: workload(otherPod, "")},

		{name: "a slice without a value for every level", object: topology(`valuesPerLevel: [{universal: a}]`, `{universal: 1}`), want: "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment"},
		{name: "a slice of one domain", object: topology(`valuesPerLevel: [{universal: a}, {individual: {roots: [b]}}]`, `{universal: 1}`)},
		{name: "more roots than domains", object: topology(`valuesPerLevel: [{universal: a}, {individual: {roots: [b, c]}}]`, `{universal: 1}`), want: "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this TopologyAssignmentSlice"},
		{name: "more counts than domains", object: topology(`valuesPerLevel: [{universal: a}, {universal: b}]`, `{individual: [1, 2]}`), want: "podCounts.individual must have length equal to domainCount"},
		{name: "a value both universal and individual", object: topology(`valuesPerLevel: [{universal: a}, {universal: b, individual: {roots: [b]}}]`, `{universal: 1}`), want: "exactly one of the fields in [universal individual] must be set"},
		{name: "a count neither universal nor individual", object: topology(`valuesPerLevel: [{universal: a}, {universal: b}]`, `{}`), want: "exactly one of the fields in [universal individual] must be set"},
	}
	for i := range cases {
		cases[i].kind = kind
	}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		cases = append(cases, sharedWorkloadRules("Workload/"+version)...)
	}
	return append(cases, oldWorkloadRules()...)
}

// topology is a Workload with one slice of one domain of two levels.
func topology(slice, counts string) string {
	return workload("", fmt.Sprintf(`admission: {podSetAssignments: [{topologyAssignment: {levels: [l1, l2], slices: [{domainCount: 1, %s, podCounts: %s}]}}]}`, slice, counts))
}

// sharedWorkloadRules are those that both versions have.
func sharedWorkloadRules(kind string) []ruleCase {
	tolerations := func(toleration string) string {
		return workload("", fmt.Sprintf(`admissionChecks: [{name: c, state: Ready, message: "", lastTransitionTime: %s, podSetUpdates: [{name: main, tolerations: [%s]}]}]`, timestamp, toleration))
	}
	cases := []ruleCase{
		{name: "more pods at least than at all", object: `{spec: {podSets: [{count: 1, minCount: 2, ` + template + `}]}}`, want: "minCount should be positive and less or equal to count"},
		{name: "as many pods at least as at all", object: `{spec: {podSets: [{count: 2, minCount: 2, ` + template + `}]}}`},
		{name: "another queue before reservation", old: workload("queueName: a", ""), object: workload("queueName: b", "")},
		{name: "another queue while reserved", old: workload("queueName: a", "", "QuotaReserved"), object: workload("queueName: b", "", "QuotaReserved"), want: "queueName is immutable"},
		{name: "a first queue while reserved", old: workload("", "", "QuotaReserved"), object: workload("queueName: b", "", "QuotaReserved"), want: "queueName is immutable"},
		{name: "another time to run before admission", old: workload("maximumExecutionTimeSeconds: 1", "", "QuotaReserved"), object: workload("maximumExecutionTimeSeconds: 2", "", "QuotaReserved")},
		{name: "another time to run while admitted", old: workload("maximumExecutionTimeSeconds: 1", "", "Admitted"), object: workload("maximumExecutionTimeSeconds: 2", "", "Admitted"), want: "maximumExecutionTimeSeconds is immutable while workload quota reserved"},
		{name: "no time to run while admitted", old: workload("maximumExecutionTimeSeconds: 1", "", "Admitted"), object: workload("", "", "Admitted"), want: "maximumExecutionTimeSeconds is immutable while workload quota reserved"},
		{name: "a cluster is found", old: workload("", "nominatedClusterNames: [a]"), object: workload("", "clusterName: a")},
		{name: "a cluster is given up", old: workload("", "clusterName: a"), object: workload("", "")},
		{name: "a cluster is replaced", old: workload("", "clusterName: a"), object: workload("", "clusterName: b"), want: "clusterName is immutable once set"},
		{name: "a cluster beside nominations", object: workload("", "clusterName: a, nominatedClusterNames: [a]"), want: "clusterName and nominatedClusterNames are mutually exclusive"},
		{name: "a cluster beside an empty list of nominations", object: workload("", "clusterName: a, nominatedClusterNames: []")},
	}
	for _, rule := range tolerationRules() {
		cases = append(cases, ruleCase{name: rule[0], object: tolerations(rule[1]), want: rule[2]})
	}
	for i := range cases {
		cases[i].kind = kind
	}
	return cases
}

// tolerationRules are a name, a toleration and the message it is refused with.
func tolerationRules() [][3]string {
	return [][3]string{
		{"a toleration", `{key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: 1}`, ""},
		{"a toleration of everything", `{operator: Exists}`, ""},
		{"no key and a value", `{value: v}`, "operator must be Exists when 'key' is empty"},
		{"seconds without NoExecute", `{key: k, effect: NoSchedule, tolerationSeconds: 1}`, "effect must be 'NoExecute' when 'tolerationSeconds' is set"},
		{"an unknown operator", `{key: k, operator: Lt}`, "supported toleration values"},
		{"Exists with a value", `{key: k, operator: Exists, value: v}`, "a value must be empty when 'operator' is 'Exists'"},
		{"an unknown effect of a toleration", `{key: k, effect: Never}`, "supported taint effect values"},
	}
}

// oldWorkloadRules are those of v1beta1 alone.
func oldWorkloadRules() []ruleCase {
	const (
		wpc      = `priority: 1, priorityClassName: a, priorityClassSource: kueue.x-k8s.io/workloadpriorityclass`
		otherWPC = `priority: 1, priorityClassName: b, priorityClassSource: kueue.x-k8s.io/workloadpriorityclass`
		pod      = `priority: 1, priorityClassName: a, priorityClassSource: scheduling.k8s.io/priorityclass`
		otherPod = `priority: 1, priorityClassName: b, priorityClassSource: scheduling.k8s.io/priorityclass`
	)
	cases := []ruleCase{
		{name: "a class needs a priority", object: workload("priorityClassName: a", ""), want: "priority should not be nil"},
		{name: "fewer assignments than pod sets", object: workload("", "admission: {clusterQueue: q, podSetAssignments: []}", "QuotaReserved"), want: "podSetAssignments must have the same number of podSets"},
		{name: "as many assignments as pod sets", object: workload("", "admission: {clusterQueue: q, podSetAssignments: [{name: main}]}", "QuotaReserved")},
		{name: "a class comes after reservation", old: workload("", "", "QuotaReserved"), object: workload(wpc, "", "QuotaReserved"), want: "priorityClassSource is immutable"},
		{name: "a class comes before reservation", old: workload("", ""), object: workload(wpc, "")},
		{name: "a workload class changes its name", old: workload(wpc, "", "QuotaReserved"), object: workload(otherWPC, "", "QuotaReserved")},
		{name: "a pod class changes its name", old: workload(pod, "", "QuotaReserved"), object: workload(otherPod, "", "QuotaReserved"), want: "priorityClassName is immutable for scheduling.k8s.io/priorityclass"},
	}
	for i := range cases {
		cases[i].kind = "Workload/v1beta1"
	}
	return cases
}
