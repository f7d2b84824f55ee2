// Package hub is the composition root of a hub: all that a worker has, and the multikueue check that hands workloads with
// quota to worker clusters. To the engine that is one more admission check; everything a hub does beyond is added here.
package hub

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"switchyard.dev/admissioncheck"
	"switchyard.dev/admissioncheck/multikueue"
	"switchyard.dev/apis/config/features"
	"switchyard.dev/hub/access"
	"switchyard.dev/hub/logtail"
	"switchyard.dev/worker"
	"switchyard.dev/worker/job"
	"switchyard.dev/worker/job/all"
	"switchyard.dev/worker/manager"
)

// Compose returns the composition of a hub; that of a worker where the gate MultiKueue is off. An error says what is wrong with
// the settings.
func Compose(s manager.Settings) (*worker.Composition, error) {
	c, err := admissioncheck.Compose(s)
	if err != nil || !s.Gates.Enabled(features.MultiKueue) {
		return c, err
	}
	check := &multikueue.Check{}
	c.PrepareAdmission = append(c.PrepareAdmission, check.Prepare)
	c.JobKinds = check.JobKinds()
	c.DispatchesJobs = true
	// No dispatcher asks a hub what room it has, and the answer would cost a write whenever a job comes or goes.
	c.ReportsCapacity = false
	c.Parts = append(c.Parts, manager.Part{Name: "multikueue", Add: func(_ context.Context, mgr ctrl.Manager) error {
		return check.Setup(mgr, s.Configuration, dispatchedKinds(c)...)
	}})
	if s.MultiKueue.KeepsLogTails() {
		c.Parts = append(c.Parts, manager.Part{Name: "logtail", Add: func(_ context.Context, mgr ctrl.Manager) error {
			return keepLogTails(mgr, s, multikueue.MirroredKinds(s.Configuration, s.Gates, dispatchedKinds(c)...))
		}})
	}
	if *s.MultiKueue.Access.Enable {
		c.APIGroups = append(c.APIGroups, access.NewGroup(func(mgr ctrl.Manager) (access.Config, error) {
			return accessConfig(mgr, s, multikueue.MirroredKinds(s.Configuration, s.Gates, dispatchedKinds(c)...))
		}))
	}
	return c, nil
}

// accessConfig is for looking after the jobs of these kinds on workers.
func accessConfig(mgr ctrl.Manager, s manager.Settings, kinds []schema.GroupVersionKind) (access.Config, error) {
	client, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return access.Config{}, fmt.Errorf("make a client to ask for the rights of callers: %w", err)
	}
	authorizer, err := access.NewAuthorizer(client.AuthorizationV1())
	if err != nil {
		return access.Config{}, err
	}
	return access.Config{
		Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: *s.Namespace, Origin: *s.MultiKueue.Origin, Jobs: kinds,
		Authorizer: authorizer, Version: client.Discovery().ServerVersion,
		Recorder: mgr.GetEventRecorder("switchyard-access"), Log: mgr.GetLogger().WithName("access"), Clock: clock.RealClock{},
	}, nil
}

// keepLogTails has how the logs of failed jobs of these kinds end be kept.
func keepLogTails(mgr ctrl.Manager, s manager.Settings, kinds []schema.GroupVersionKind) error {
	tails := s.MultiKueue.Access.LogTails
	return logtail.New(logtail.Config{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Retention: s.MultiKueue.RetainFinished(),
		MaxJobs: int(*tails.MaxJobs), MaxAge: tails.MaxAge.Duration, Log: mgr.GetLogger().WithName("logtail"), Clock: clock.RealClock{},
		Workers: access.NewPods(access.Config{
			Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: *s.Namespace, Origin: *s.MultiKueue.Origin, Jobs: kinds,
		}),
	}).SetupWithManager(mgr)
}

// dispatchedKinds are what the hub can run elsewhere: its kinds of job and, where the configuration names them, what waits pod by pod
// (contract: job-kinds.md 10.8, 12, 13).
func dispatchedKinds(c *worker.Composition) []job.Integration {
	kinds := slices.Clone(c.Kinds)
	for _, kind := range all.Mirrored() {
		if slices.Contains(c.Settings.Integrations.Frameworks, kind.Name()) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
