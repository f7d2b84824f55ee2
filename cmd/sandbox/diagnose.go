package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/installation"
)

// listInactive says which queues, checks and workers are not in working order, and why: the usual cause of jobs that wait
// for nothing that they say themselves.
func listInactive(ctx context.Context, stage *installation.Stage) []string {
	// The caller's context may be what has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var lines []string
	for _, site := range stage.Sites() {
		conditions, err := activeCondition(ctx, site)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", site.Name, err))
			continue
		}
		for object, all := range conditions {
			active := meta.FindStatusCondition(all, "Active")
			switch {
			case active == nil:
				lines = append(lines, fmt.Sprintf("%s: %s has no condition Active", site.Name, object))
			case active.Status != metav1.ConditionTrue:
				lines = append(lines, fmt.Sprintf("%s: %s is not active (%s): %s", site.Name, object, active.Reason, active.Message))
			}
		}
	}
	return lines
}

// activeCondition is the conditions of all objects that have one called Active.
func activeCondition(ctx context.Context, site *installation.Site) (map[string][]metav1.Condition, error) {
	var (
		queues      kueue.ClusterQueueList
		localQueues kueue.LocalQueueList
		checks      kueue.AdmissionCheckList
		workers     kueue.MultiKueueClusterList
	)
	if err := site.List(ctx, &queues); err != nil {
		return nil, err
	}
	if err := site.List(ctx, &localQueues); err != nil {
		return nil, err
	}
	if err := site.List(ctx, &checks); err != nil {
		return nil, err
	}
	if err := site.List(ctx, &workers); err != nil {
		return nil, err
	}
	found := map[string][]metav1.Condition{}
	for _, q := range queues.Items {
		found["ClusterQueue "+q.Name] = q.Status.Conditions
	}
	for _, q := range localQueues.Items {
		found["LocalQueue "+q.Namespace+"/"+q.Name] = q.Status.Conditions
	}
	for _, c := range checks.Items {
		found["AdmissionCheck "+c.Name] = c.Status.Conditions
	}
	for _, w := range workers.Items {
		found["MultiKueueCluster "+w.Name] = w.Status.Conditions
	}
	return found, nil
}
