package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
)

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	all := doors(t)
	for _, c := range []struct{ kind, object, want string }{
		{"Workload/v1beta2",
			`{spec: {podSets: [{template: {}}]}, status: {admission: {podSetAssignments: [{}]}}}`,
			`{spec: {active: true, podSets: [{name: main, count: 1, template: {}}]}, status: {admission: {podSetAssignments: [{name: main}]}}}`},
		{"Workload/v1beta2",
			`{spec: {active: false, podSets: [{name: w, count: 0, template: {}}]}}`,
			`{spec: {active: false, podSets: [{name: w, count: 0, template: {}}]}}`},
		{"Workload/v1beta1",
			`{spec: {podSets: [{template: {}}]}}`,
			`{spec: {active: true, priorityClassSource: "", podSets: [{name: main, count: 1, template: {}}]}}`},
		{"ClusterQueue/v1beta2", `{spec: {fairSharing: {}}}`,
			`{spec: {queueingStrategy: BestEffortFIFO, stopPolicy: None, fairSharing: {weight: 1},
			  flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor},
			  preemption: {reclaimWithinCohort: Never, withinClusterQueue: Never, borrowWithinCohort: {policy: Never}}}}`},
		{"ClusterQueue/v1beta1", `{spec: {preemption: {withinClusterQueue: LowerPriority}}}`,
			`{spec: {queueingStrategy: BestEffortFIFO, stopPolicy: None,
			  flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor},
			  preemption: {reclaimWithinCohort: Never, withinClusterQueue: LowerPriority, borrowWithinCohort: {policy: Never}}}}`},
		{"LocalQueue/v1beta2", `{spec: {clusterQueue: q, fairSharing: {}}}`, `{spec: {clusterQueue: q, stopPolicy: None, fairSharing: {weight: 1}}}`},
		{"Cohort/v1beta2", `{spec: {fairSharing: {}}}`, `{spec: {fairSharing: {weight: 1}}}`},
		{"AdmissionCheck/v1beta1", `{spec: {controllerName: c}}`, `{spec: {controllerName: c, retryDelayMinutes: 15}}`},
		{"AdmissionCheck/v1beta2", `{spec: {controllerName: c}}`, `{spec: {controllerName: c}}`},
		{"MultiKueueCluster/v1beta2", `{spec: {clusterSource: {kubeConfig: {location: s}}}}`, `{spec: {clusterSource: {kubeConfig: {location: s, locationType: Secret}}}}`},
		{"ProvisioningRequestConfig/v1beta2", `{spec: {provisioningClassName: p}}`,
			`{spec: {provisioningClassName: p, retryStrategy: {backoffLimitCount: 3, backoffBaseSeconds: 60, backoffMaxSeconds: 1800}}}`},
		{"ProvisioningRequestConfig/v1beta2", `{spec: {provisioningClassName: p, retryStrategy: {backoffLimitCount: 0}}}`,
			`{spec: {provisioningClassName: p, retryStrategy: {backoffLimitCount: 0, backoffBaseSeconds: 60, backoffMaxSeconds: 1800}}}`},
	} {
		t.Run(c.kind+" "+c.object, func(t *testing.T) {
			got := object(t, c.object)
			expect(t, all[c.kind].admit(nil, got), "")
			if diff := cmp.Diff(object(t, c.want), got); diff != "" {
				t.Errorf("defaults (-want +got):\n%s", diff)
			}
		})
	}
}

// A schema without the metadata of pod templates would silently drop the labels
// that job kinds depend on.
func TestNothingOfAPodTemplateIsPruned(t *testing.T) {
	const manifest = `{spec: {podSets: [{name: main, count: 1, template: {
	  metadata: {labels: {a: b}, annotations: {c: d}},
	  spec: {schedulerName: s, nodeSelector: {e: f}, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}]}}`
	for _, kind := range []string{"Workload/v1beta1", "Workload/v1beta2"} {
		got := object(t, manifest)
		pruning.Prune(got, doors(t)[kind].structural, true)
		if diff := cmp.Diff(object(t, manifest), got); diff != "" {
			t.Errorf("%s (-before +after):\n%s", kind, diff)
		}
	}
}
