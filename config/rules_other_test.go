package config_test

import "fmt"

// otherRules are those of flavors, topologies, checks and clusters.
func otherRules() []ruleCase {
	cases := []ruleCase{
		{name: "levels get a new top above hostname", kind: "Topology/v1beta2", old: levels("kubernetes.io/hostname"), object: levels("rack", "kubernetes.io/hostname")},
		{name: "levels change without hostname", kind: "Topology/v1beta2", old: levels("rack"), object: levels("block", "rack"), want: "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change"},
		{name: "levels lose hostname", kind: "Topology/v1beta2", old: levels("rack", "kubernetes.io/hostname"), object: levels("rack"), want: "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change"},
		{name: "levels get a new top above hostname", kind: "Topology/v1beta1", old: levels("kubernetes.io/hostname"), object: levels("rack", "kubernetes.io/hostname"), want: "field is immutable"},

		{name: "a kubeconfig", kind: "MultiKueueCluster/v1beta2", object: `{spec: {clusterSource: {kubeConfig: {location: s}}}}`},
		{name: "a profile", kind: "MultiKueueCluster/v1beta2", object: `{spec: {clusterSource: {clusterProfileRef: {name: p}}}}`},
		{name: "no source", kind: "MultiKueueCluster/v1beta2", object: `{spec: {clusterSource: {}}}`, want: "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"},
		{name: "two sources", kind: "MultiKueueCluster/v1beta2", object: `{spec: {clusterSource: {kubeConfig: {location: s}, clusterProfileRef: {name: p}}}}`, want: "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"},
		{name: "clusters", kind: "MultiKueueConfig/v1beta2", object: `{spec: {clusters: [a, b]}}`},
		{name: "a cluster twice", kind: "MultiKueueConfig/v1beta2", object: `{spec: {clusters: [a, b, a]}}`, want: "must be unique"},
		{name: "a cluster twice", kind: "MultiKueueConfig/v1beta1", object: `{spec: {clusters: [a, b, a]}}`, want: "Duplicate value"},
	}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		cases = append(cases, flavorRules("ResourceFlavor/"+version)...)
		cases = append(cases,
			ruleCase{name: "levels", kind: "Topology/" + version, object: levels("block", "rack", "kubernetes.io/hostname")},
			ruleCase{name: "a level twice", kind: "Topology/" + version, object: levels("rack", "rack"), want: "must be unique"},
			ruleCase{name: "a level below hostname", kind: "Topology/" + version, object: levels("kubernetes.io/hostname", "rack"), want: "can only be used at the lowest level of topology"},
			ruleCase{name: "the same controller", kind: "AdmissionCheck/" + version, old: `{spec: {controllerName: a}}`, object: `{spec: {controllerName: a}}`},
			ruleCase{name: "another controller", kind: "AdmissionCheck/" + version, old: `{spec: {controllerName: a}}`, object: `{spec: {controllerName: b}}`, want: "field is immutable"},
		)
	}
	return cases
}

func levels(labels ...string) string {
	manifest := "spec: {levels: ["
	for _, label := range labels {
		manifest += fmt.Sprintf("{nodeLabel: %s},", label)
	}
	return manifest + "]}"
}

func flavorRules(kind string) []ruleCase {
	cases := []ruleCase{
		{name: "an empty one", object: `{spec: {}}`},
		{name: "a topology without labels", object: `{spec: {topologyName: t}}`, want: "at least one nodeLabel is required when topology is set"},
		{name: "a topology", object: `{spec: {topologyName: t, nodeLabels: {a: b}}}`},
		{name: "a topology comes", old: `{spec: {nodeLabels: {a: b}}}`, object: `{spec: {topologyName: t, nodeLabels: {a: b}}}`},
		{name: "a topology is replaced", old: `{spec: {topologyName: t, nodeLabels: {a: b}}}`, object: `{spec: {topologyName: u, nodeLabels: {a: b}}}`, want: "topologyName is immutable when topologyName is set"},
		{name: "a topology goes", old: `{spec: {topologyName: t, nodeLabels: {a: b}}}`, object: `{spec: {nodeLabels: {a: b}}}`, want: "topologyName is immutable when topologyName is set"},
		{name: "a taint", object: `{spec: {nodeTaints: [{key: k, effect: NoExecute}]}}`},
		{name: "an unknown effect of a taint", object: `{spec: {nodeTaints: [{key: k, effect: Never}]}}`, want: "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"},
	}
	for _, rule := range tolerationRules() {
		cases = append(cases, ruleCase{name: rule[0], object: fmt.Sprintf(`{spec: {tolerations: [%s]}}`, rule[1]), want: rule[2]})
	}
	for i := range cases {
		cases[i].kind = kind
	}
	return cases
}
