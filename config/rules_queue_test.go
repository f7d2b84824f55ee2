package config_test

import "fmt"

// queueRules are those of ClusterQueues, Cohorts and LocalQueues.
func queueRules() []ruleCase {
	var cases []ruleCase
	for version, cohort := range map[string]string{"v1beta1": "cohort", "v1beta2": "cohortName"} {
		cases = append(cases, clusterQueueRules("ClusterQueue/"+version, cohort)...)
		cases = append(cases,
			ruleCase{name: "fewer resources than are covered", kind: "Cohort/" + version, object: `{spec: {` + groups("cpu, memory", "") + `}}`, want: "flavors must have the same number of resources as the coveredResources"},
			ruleCase{name: "as many resources as are covered", kind: "Cohort/" + version, object: `{spec: {` + groups("cpu", "borrowingLimit: 1") + `}}`},
			ruleCase{name: "the same ClusterQueue", kind: "LocalQueue/" + version, old: `{spec: {clusterQueue: a}}`, object: `{spec: {clusterQueue: a, stopPolicy: Hold}}`},
			ruleCase{name: "another ClusterQueue", kind: "LocalQueue/" + version, old: `{spec: {clusterQueue: a}}`, object: `{spec: {clusterQueue: b}}`, want: "field is immutable"},
		)
	}
	return cases
}

// groups is one resource group with a flavor that has quota of cpu.
func groups(covered, limit string) string {
	return fmt.Sprintf(`resourceGroups: [{coveredResources: [%s], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1, %s}]}]}]`, covered, limit)
}

func clusterQueueRules(kind, cohort string) []ruleCase {
	cases := []ruleCase{
		{name: "an empty one", object: `{spec: {}}`},
		{name: "a limit to borrow from nobody", object: `{spec: {` + groups("cpu", "borrowingLimit: 1") + `}}`, want: "borrowingLimit must be nil when cohort is empty"},
		{name: "a limit to borrow", object: `{spec: {` + cohort + `: c, ` + groups("cpu", "borrowingLimit: 1") + `}}`},
		{name: "fewer resources than are covered", object: `{spec: {` + groups("cpu, memory", "") + `}}`, want: "flavors must have the same number of resources as the coveredResources"},
		{name: "a preference that is never asked for", object: `{spec: {flavorFungibility: {preference: PreemptionOverBorrowing}}}`, want: "preference can only be set when both"},
		{name: "a preference", object: `{spec: {flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: PreemptionOverBorrowing}}}`},
		{name: "preemption to borrow, but not to reclaim", object: `{spec: {preemption: {borrowWithinCohort: {policy: LowerPriority}}}}`, want: "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"},
		{name: "preemption to borrow and to reclaim", object: `{spec: {preemption: {reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}}}}`},
	}
	for i := range cases {
		cases[i].kind = kind
	}
	return cases
}
