package config

import "testing"

func TestEachProgramHasAClusterRoleAndARoleOfItsOwn(t *testing.T) {
	for _, program := range []string{"hub", "worker"} {
		cluster, own, err := Roles(program)
		if err != nil {
			t.Fatal(err)
		}
		if cluster.Kind != "ClusterRole" || own.Kind != "Role" || len(cluster.Rules) == 0 || len(own.Rules) == 0 {
			t.Errorf("%s: got %s with %d rules and %s with %d", program, cluster.Kind, len(cluster.Rules), own.Kind, len(own.Rules))
		}
		for _, rule := range append(cluster.Rules, own.Rules...) {
			for _, word := range append(append(rule.Verbs, rule.Resources...), rule.APIGroups...) {
				if word == "*" {
					t.Errorf("%s: a wildcard in %v", program, rule)
				}
			}
		}
	}
	if _, _, err := Roles("nobody"); err == nil {
		t.Error("a program that does not exist has roles")
	}
}
