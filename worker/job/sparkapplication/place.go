package sparkapplication

import (
	"encoding/json"
	"maps"
	"slices"

	spark "github.com/kubeflow/spark-operator/v2/api/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/job"
)

// originalAnnotation is on a placed application. It has what Place took out of the spec or put into it and no Workload knows, as JSON.
const originalAnnotation = "switchyard.dev/spark-original"

// original is the value of that annotation.
type original struct {
	// NodeSelector is the one for all pods. It excludes those of the roles.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Templates are the roles that have no template of their own.
	Templates []string `json:"templatesOf,omitempty"`
}

// readOriginal returns what an application was before it was placed; nothing if that cannot be read.
func readOriginal(app *spark.SparkApplication) original {
	var o original
	if json.Unmarshal([]byte(app.Annotations[originalAnnotation]), &o) != nil {
		return original{}
	}
	return o
}

// write puts the record on the application, or takes an empty one off.
func (o original) write(app *spark.SparkApplication) {
	text, err := json.Marshal(o)
	if err == nil && (len(o.NodeSelector) > 0 || len(o.Templates) > 0) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, originalAnnotation, string(text))
		return
	}
	delete(app.Annotations, originalAnnotation)
	if len(app.Annotations) == 0 {
		app.Annotations = nil
	}
}

// place puts the placements into the roles. The node selector for all pods becomes one of each role: the operator takes no application that
// has both.
func place(app *spark.SparkApplication, placements []job.Placement) error {
	list := roles(app)
	if err := job.MatchPlacements(len(list), placements); err != nil {
		return err
	}
	placed := make([]*corev1.PodTemplateSpec, len(list))
	for i, r := range list {
		placed[i] = r.placement()
		for _, p := range []job.Placement{{NodeSelector: app.Spec.NodeSelector}, placements[i]} {
			if err := job.PlaceTemplate(placed[i], p); err != nil {
				return err
			}
		}
	}
	was := readOriginal(app)
	for i, r := range list {
		if r.become(placed[i]) && !slices.Contains(was.Templates, r.name) {
			was.Templates = append(was.Templates, r.name)
		}
	}
	if len(app.Spec.NodeSelector) > 0 {
		was.NodeSelector, app.Spec.NodeSelector = app.Spec.NodeSelector, nil
	}
	was.write(app)
	return nil
}

// restore makes the roles what they are in the pod sets. Only if it has both of them the rest is what it was, too.
func restore(app *spark.SparkApplication, sets []kueue.PodSet) {
	restored := 0
	for _, r := range roles(app) {
		i := slices.IndexFunc(sets, func(ps kueue.PodSet) bool { return ps.Name == job.PodSetName(r.name) })
		if i < 0 {
			continue
		}
		r.become(&sets[i].Template)
		restored++
		if r.name == "executor" && ptr.Deref(app.Spec.Executor.Instances, 0) != sets[i].Count {
			app.Spec.Executor.Instances = ptr.To(sets[i].Count)
		}
	}
	if restored == len(roles(app)) {
		restoreOriginal(app)
	}
}

// restoreOriginal undoes what is on record. Roles that have node selectors of their own exclude one for all pods.
func restoreOriginal(app *spark.SparkApplication) {
	if _, placed := app.Annotations[originalAnnotation]; !placed {
		return
	}
	was := readOriginal(app)
	selected := len(app.Spec.NodeSelector) > 0
	for _, r := range roles(app) {
		selected = selected || len(r.pod.NodeSelector) > 0
		if slices.Contains(was.Templates, r.name) {
			r.pod.Template = nil
		}
	}
	if !selected {
		app.Spec.NodeSelector = was.NodeSelector
	}
	original{}.write(app)
}

// become makes the role's placement that of the template, and returns whether the role got a template of its own for that.
func (r role) become(t *corev1.PodTemplateSpec) (made bool) {
	labels, annotations := r.ownMetadata()
	r.pod.Labels = beyond(labels, r.pod.Labels, t.Labels)
	r.pod.Annotations = beyond(annotations, r.pod.Annotations, t.Annotations)
	r.pod.NodeSelector = maps.Clone(t.Spec.NodeSelector)
	r.pod.Tolerations = slices.Clone(t.Spec.Tolerations)
	if r.pod.Template == nil && len(t.Spec.SchedulingGates) > 0 {
		r.pod.Template, made = &corev1.PodTemplateSpec{}, true
		r.pod.Template.Spec.Containers = []corev1.Container{{Name: r.container}}
	}
	if r.pod.Template != nil {
		r.pod.Template.Spec.SchedulingGates = slices.Clone(t.Spec.SchedulingGates)
	}
	return made
}

// beyond returns the entries that a role has to have, given those of its own template, for both to have all. It keeps those that it has.
func beyond(template, role, all map[string]string) map[string]string {
	var rest map[string]string
	for key, value := range all {
		_, has := role[key]
		if given, found := template[key]; !has && found && given == value {
			continue
		}
		if rest == nil {
			rest = map[string]string{}
		}
		rest[key] = value
	}
	return rest
}
