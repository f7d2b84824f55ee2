package installation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/e2e/clusters"
	"switchyard.dev/e2e/network"
	"switchyard.dev/worker/job"
)

// Site is a cluster with its Switchyard program and an administrator's client.
type Site struct {
	*clusters.Cluster
	client.WithWatch
	Program *Program
	// Link is what the hub reaches the site through; nil at the hub, and on a stage without links.
	Link *network.Link
}

// Stage is one hub and its workers, registered and connected.
type Stage struct {
	Hub     *Site
	Workers []*Site
}

// StageOptions say what to put on the stage.
type StageOptions struct {
	Hub     clusters.Options
	Workers []clusters.Options
	// Programs is the directory that holds the built programs "hub" and "worker".
	Programs string
	// Links puts a link between the hub and each worker, see Site.
	Links bool
	// Kinds are the kinds of job that the hub may handle on the workers; Job and JobSet if there are none.
	Kinds []job.Integration
	// Configuration is laid over every program's, see Options.
	Configuration map[string]any
}

// connectTimeout is how long Raise waits for the hub to connect to its workers.
const connectTimeout = 30 * time.Second

// StartStage starts clusters and programs side by side and registers the workers at the hub. After an error nothing is left
// running. Certificates of the clusters and lives of the processes do not depend on ctx, only the waiting does.
func StartStage(ctx context.Context, o StageOptions) (*Stage, error) {
	started, err := clusters.StartAll(ctx, append([]clusters.Options{o.Hub}, o.Workers...)...)
	if err != nil {
		return nil, err
	}
	stage := &Stage{}
	for i, c := range started {
		client, err := Client(c)
		if err != nil {
			return nil, errors.Join(err, clusters.StopAll(started...))
		}
		site := &Site{Cluster: c, WithWatch: client}
		if i == 0 {
			stage.Hub = site
		} else {
			stage.Workers = append(stage.Workers, site)
		}
	}
	if err := stage.install(ctx, o); err != nil {
		return nil, errors.Join(err, stage.Stop())
	}
	return stage, nil
}

// Sites are the hub and the workers.
func (s *Stage) Sites() []*Site { return append([]*Site{s.Hub}, s.Workers...) }

func (s *Stage) install(ctx context.Context, o StageOptions) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, site := range s.Sites() {
		name := "worker"
		if site == s.Hub {
			name = "hub"
		}
		group.Go(func() error {
			var err error
			site.Program, err = Start(groupCtx, Options{
				Cluster: site.Cluster, Binary: filepath.Join(o.Programs, name), Configuration: o.Configuration,
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, worker := range s.Workers {
		address := ""
		if o.Links {
			var err error
			if worker.Link, err = network.Open(worker.Address()); err != nil {
				return err
			}
			address = worker.Link.Addr()
		}
		if err := Register(ctx, s.Hub.Cluster, worker.Cluster, address, o.Kinds...); err != nil {
			return err
		}
	}
	return s.waitConnected(ctx)
}

func (s *Stage) waitConnected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		waiting, err := s.unconnected(ctx)
		if err == nil && waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the hub is not connected to %s: %w", waiting, errors.Join(ctx.Err(), err))
		case <-ticker.C:
		}
	}
}

// unconnected names a worker to which the hub is not connected, with what the hub says about it.
func (s *Stage) unconnected(ctx context.Context) (string, error) {
	for _, worker := range s.Workers {
		cluster := &kueue.MultiKueueCluster{}
		if err := s.Hub.Get(ctx, client.ObjectKey{Name: worker.Name}, cluster); err != nil {
			return worker.Name, err
		}
		active := meta.FindStatusCondition(cluster.Status.Conditions, kueue.MultiKueueClusterActive)
		if active == nil {
			return worker.Name, nil
		}
		if active.Status != metav1.ConditionTrue {
			return fmt.Sprintf("%s (%s: %s)", worker.Name, active.Reason, active.Message), nil
		}
	}
	return "", nil
}

// Stop ends the programs, then the clusters.
func (s *Stage) Stop() error {
	var result *multierror.Error
	var all []*clusters.Cluster
	for _, site := range s.Sites() {
		if site.Program != nil {
			result = multierror.Append(result, site.Program.Stop())
		}
		if site.Link != nil {
			result = multierror.Append(result, site.Link.Close())
		}
		all = append(all, site.Cluster)
	}
	return multierror.Append(result, clusters.StopAll(all...)).ErrorOrNil()
}
