package config_test

import (
	"context"
	"testing"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// dearest is what the rules of a Workload may cost when its status is written, in the API server's units. Every field that a
// rule selects costs the server some fifty allocations, and it evaluates the rules with each of the writes of a workload's
// life: what is cheap and mostly true (the spec's field is as it was) has to come before what walks the conditions.
const dearest = 80

func TestAStatusWriteIsCheapToValidate(t *testing.T) {
	const reserved = `
metadata: {name: a}
spec:
  queueName: q
  priority: 1
  podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c}]}}}]
status:
  admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 1}]}
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
`
	const finished = reserved + `
  - {type: Finished, status: "True", reason: Succeeded, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
`
	for _, version := range []string{"v1beta1", "v1beta2"} {
		d := doors(t)["Workload/"+version]
		problems, left := d.rules.Validate(context.Background(), nil, d.structural, object(t, finished), object(t, reserved),
			celconfig.RuntimeCELCostBudget)
		expect(t, problems, "")
		if cost := celconfig.RuntimeCELCostBudget - left; cost > dearest {
			t.Errorf("%s: the rules cost %d, more than %d", version, cost, dearest)
		} else {
			t.Logf("%s: the rules cost %d", version, cost)
		}
	}
}
