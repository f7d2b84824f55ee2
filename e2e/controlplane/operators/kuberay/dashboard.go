package main

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	ray "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/manager"
)

// dashboards plays the dashboards of all Ray clusters, as kwok plays kubelets.
type dashboards struct{}

// GetDashboardClient makes the dashboard of a cluster.
func (dashboards) GetDashboardClient(_ context.Context, mgr ctrl.Manager) func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(cluster *rayv1.RayCluster, _ string) (dashboardclient.RayDashboardClientInterface, error) {
		return &dashboard{reader: mgr.GetAPIReader(), cluster: cluster}, nil
	}
}

// GetHttpProxyClient makes a proxy of Ray Serve that is healthy.
func (dashboards) GetHttpProxyClient(ctrl.Manager) func(string, string, string, int) utils.RayHttpProxyClientInterface { //nolint:staticcheck // KubeRay's name
	return func(string, string, string, int) utils.RayHttpProxyClientInterface { return proxy{} }
}

type proxy struct{}

// CheckProxyActorHealth finds it healthy.
func (proxy) CheckProxyActorHealth(context.Context) error { return nil }

// dashboard plays one. A Ray job is what its submitter is: it runs, and ends in the same way, when the submitter's Job does.
// Without such a Job it runs for ever. Every cluster serves one application, which runs.
type dashboard struct {
	// What Ray has and the controllers never ask for in our tests is left to this nil interface, which panics.
	dashboardclient.RayDashboardClientInterface
	reader  client.Reader
	cluster *rayv1.RayCluster
}

// GetJobInfo says how the Ray job is.
func (d *dashboard) GetJobInfo(ctx context.Context, id string) (*ray.RayJobInfo, error) {
	info := &ray.RayJobInfo{JobId: id, SubmissionId: id, JobStatus: rayv1.JobStatusRunning}
	owner := metav1.GetControllerOf(d.cluster)
	if owner == nil {
		return info, nil
	}
	// KubeRay gives the submitter the name of the RayJob.
	submitter := &batchv1.Job{}
	err := d.reader.Get(ctx, client.ObjectKey{Namespace: d.cluster.Namespace, Name: owner.Name}, submitter)
	if apierrors.IsNotFound(err) {
		return info, nil
	}
	if err != nil {
		return nil, fmt.Errorf("submitter of %s: %w", owner.Name, err)
	}
	for _, condition := range submitter.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			info.JobStatus = rayv1.JobStatusSucceeded
		case batchv1.JobFailed:
			info.JobStatus, info.Message = rayv1.JobStatusFailed, condition.Message
		case batchv1.JobSuspended, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget: // it has not ended
		}
	}
	return info, nil
}

// SubmitJob takes a job.
func (*dashboard) SubmitJob(_ context.Context, job *rayv1.RayJob) (string, error) {
	return job.Status.JobId, nil
}

// StopJob stops a job.
func (*dashboard) StopJob(context.Context, string) error { return nil }

// UpdateDeployments takes any.
func (*dashboard) UpdateDeployments(context.Context, []byte) error { return nil }

// GetMultiApplicationStatus has one application that runs.
func (*dashboard) GetMultiApplicationStatus(context.Context) (map[string]*ray.ServeApplicationStatus, error) {
	name := utils.DefaultServeAppName
	return map[string]*ray.ServeApplicationStatus{name: {Name: name, Status: rayv1.ApplicationStatusEnum.RUNNING}}, nil
}
