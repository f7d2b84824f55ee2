package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"switchyard.dev/apis/config"
	"switchyard.dev/apis/config/v1beta2"
)

func TestAnOldFileDoesNotWaitForPodsUnlessToldTo(t *testing.T) {
	if c := load(t, "v1beta1", ""); !c.WaitForPodsReady.Disabled {
		t.Error("an absent stanza waits")
	}
	if c := load(t, "v1beta1", "waitForPodsReady: {timeout: 1m}"); !c.WaitForPodsReady.Disabled {
		t.Error("a stanza that is not enabled waits")
	}
	got := load(t, "v1beta1", "waitForPodsReady: {enable: true}").WaitForPodsReady
	want := load(t, "v1beta2", "waitForPodsReady: {timeout: 5m, blockAdmission: true}").WaitForPodsReady
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an enabled stanza (-want +got):\n%s", diff)
	}
}

func TestAnOldFileSharesFairlyOnlyWhenEnabled(t *testing.T) {
	if c := load(t, "v1beta1", "fairSharing: {enable: false, preemptionStrategies: [LessThanInitialShare]}"); c.FairSharing != nil {
		t.Errorf("fairSharing is %+v", c.FairSharing)
	}
	c := load(t, "v1beta1", "fairSharing: {enable: true}")
	want := []v1beta2.PreemptionStrategy{v1beta2.LessThanOrEqualToFinalShare, v1beta2.LessThanInitialShare}
	if diff := cmp.Diff(want, c.FairSharing.PreemptionStrategies); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
}

func TestWhatDidNotChangeIsReadFromAnOldFile(t *testing.T) {
	got := load(t, "v1beta1", `
namespace: mine
manageJobsWithoutQueueName: true
queueVisibility: {updateIntervalSeconds: 5, clusterQueues: {maxCount: 10}}
integrations: {frameworks: [pod], podOptions: {namespaceSelector: {matchLabels: {team: a}}, podSelector: {}}}
multiKueue: {origin: here, gcInterval: 2m, workerLostTimeout: 3m}
resources: {excludeResourcePrefixes: [x]}
clientConnection: {qps: 20}
metrics: {enableClusterQueueResources: true}
`)
	want := load(t, "v1beta2", `
namespace: mine
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {team: a}}
integrations: {frameworks: [pod]}
multiKueue: {origin: here, gcInterval: 2m, workerLostTimeout: 3m}
resources: {excludeResourcePrefixes: [x]}
clientConnection: {qps: 20}
metrics: {enableClusterQueueResources: true}
`)
	want.WaitForPodsReady.Disabled = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.ClientConnection.Burst == nil || *got.ClientConnection.Burst != 500 || *got.MultiKueue.WorkerLostTimeout != *minutes(3) || got.MultiKueue.GCInterval.Duration != 2*time.Minute {
		t.Errorf("defaults are missing: %+v", ptr.Deref(got.ClientConnection.Burst, 0))
	}
}

func TestAnOldFileIsStrictToo(t *testing.T) {
	for _, stanza := range []string{"visibilityServer: {}", "multiKueue: {incrementalDispatcherConfig: {}}", "multiKueue: {objectRetentionPolicies: {}}", "metrics: {customLabels: [{name: a, sourceKind: Cohort}]}"} {
		if _, err := config.Load(file("v1beta1", stanza)); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: got %v", stanza, err)
		}
	}
}
