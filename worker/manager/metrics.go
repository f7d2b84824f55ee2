package manager

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// role is what this replica is, the value of the label replica_role (contract: kueue-api.md 5).
type role string

const (
	leader     role = "leader"
	follower   role = "follower"
	standalone role = "standalone"
)

const (
	roleLabel = "replica_role"
	buildInfo = "kueue_build_info"
)

// replica knows the role of one replica of a program. Its zero value is a follower.
type replica struct{ role atomic.Value }

func (r *replica) currentRole() role {
	current, ok := r.role.Load().(role)
	if !ok {
		return follower
	}
	return current
}

// followElection keeps the role up to date: standalone without election, else follower until elected. A leader that loses
// its lease ends.
func (r *replica) followElection(ctx context.Context, elected <-chan struct{}, elects bool) {
	if !elects {
		r.role.Store(standalone)
		return
	}
	select {
	case <-elected:
		r.role.Store(leader)
	case <-ctx.Done():
	}
}

// roleGatherer puts the label replica_role on every metric of the public contract as it is read, except on the build info.
// The counting code need not know the role, and the label is right also for what was counted before the role changed.
type roleGatherer struct {
	prometheus.Gatherer
	replica *replica
}

// Gather implements prometheus.Gatherer.
func (g roleGatherer) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Gatherer.Gather()
	value := string(g.replica.currentRole())
	for _, family := range families {
		if !hasRoleLabel(family.GetName()) {
			continue
		}
		for _, m := range family.Metric {
			addRole(m, value)
		}
	}
	return families, err
}

func hasRoleLabel(name string) bool {
	return name != buildInfo && (strings.HasPrefix(name, "kueue_") || strings.HasPrefix(name, "multikueue_"))
}

// addRole adds the label at its place in the sorted list, unless the metric has it.
func addRole(m *dto.Metric, value string) {
	at := len(m.Label)
	for i, l := range m.Label {
		if l.GetName() == roleLabel {
			return
		}
		if l.GetName() > roleLabel {
			at = i
			break
		}
	}
	name := roleLabel
	labels := append([]*dto.LabelPair{}, m.Label[:at]...)
	labels = append(labels, &dto.LabelPair{Name: &name, Value: &value})
	m.Label = append(labels, m.Label[at:]...)
}

// newBuildInfo says what was built from what, from the information that the Go toolchain leaves in the binary.
func newBuildInfo() prometheus.Collector {
	version, commit, date := "unknown", "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.time":
				date = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: buildInfo, Help: "Constant 1, labelled by what was built.",
		ConstLabels: prometheus.Labels{
			"git_version": version, "git_commit": commit, "build_date": date, "go_version": runtime.Version(),
			"compiler": runtime.Compiler, "platform": runtime.GOOS + "/" + runtime.GOARCH,
		},
	}, func() float64 { return 1 })
}
