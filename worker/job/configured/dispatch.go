package configured

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	switchyard "switchyard.dev/apis/switchyard/v1alpha1"
)

// dispatch says how jobs run on other clusters.
type dispatch struct {
	managedBy path
	// manager is the value of managedBy that means the kind's own controller, besides none.
	manager string
	// status are the parts of the status that are copied, and drop those of the job that a copy lacks.
	status, drop []path
}

// dispatch returns nil for a kind whose jobs do not run elsewhere.
func (c compiler) dispatch(at *field.Path, spec *switchyard.JobKindDispatch) *dispatch {
	if spec == nil {
		return nil
	}
	text := cmp.Or(spec.ManagedBy.Path, specField+".managedBy")
	d := &dispatch{manager: spec.ManagedBy.Default, managedBy: c.path(at.Child("managedBy", "path"), text, parseOwnPath)}
	for i, text := range spec.StatusPaths {
		where := at.Child("statusPaths").Index(i)
		c.require(where, text != "")
		d.status = append(d.status, c.path(where, text, parseStatusPath))
	}
	for i, text := range spec.DropPaths {
		where := at.Child("dropPaths").Index(i)
		c.require(where, text != "")
		d.drop = append(d.drop, c.path(where, text, parseWritablePath))
	}
	if len(d.status) == 0 {
		d.status = []path{{statusField}}
	}
	return d
}

// copyStatus makes the parts of the local status what they are remotely. A remote job without status has nothing to tell, and the end of
// a job is never taken back.
func (p *Program) copyStatus(local, remote *object) (changed, deferred bool) {
	to, from := fields(local), fields(remote)
	if !hasStatus(from) || p.progress.outcome(to) != nil {
		return false, false
	}
	for _, part := range p.dispatch.status {
		was, had := part.get(to)
		is, has := part.get(from)
		switch {
		case had == has && equality.Semantic.DeepEqual(was, is):
			continue
		case !has:
			part.remove(to)
		default:
			if err := part.set(to, runtime.DeepCopyJSONValue(is)); err != nil {
				continue // another part is where it should go, which comes first or not at all
			}
		}
		changed = true
	}
	return changed, false
}

// detach leaves of a job what its user wrote, and of that what its copy needs.
func (p *Program) detach(j *object) {
	object := fields(j)
	delete(object, statusField)
	for _, part := range p.dispatch.drop {
		part.remove(object)
	}
}

// manager is who is responsible for the job; empty if it does not say.
func (d *dispatch) managerOf(object map[string]any) string {
	value, _ := d.managedBy.get(object)
	text, _ := value.(string) // anything else names nobody
	return text
}

// setManager names who is responsible for the job; nobody if that is empty.
func (d *dispatch) setManager(object map[string]any, manager string) {
	if manager == "" {
		d.managedBy.remove(object)
		return
	}
	_ = d.managedBy.set(object, manager) // not where the API server has let something else in: such a job is not handed over
}
