package mirror

import (
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"switchyard.dev/admissioncheck/multikueue/dispatch"
	"switchyard.dev/admissioncheck/multikueue/wire"
	"switchyard.dev/worker/kube"
)

// MaxStatus is the largest status of a remote job, in bytes of text, that is copied to the hub's: as many of them as there are jobs
// must find room in the hub's etcd. Those of a hundred thousand indexes are within it.
const MaxStatus = 256 << 10

// outcome is how a run ended, in texts fit to be shown as ours.
func outcome(reason, message string) *dispatch.Outcome {
	return &dispatch.Outcome{Reason: kube.Sanitize(reason, wire.MaxText), Message: kube.Sanitize(message, kube.MaxConditionMessage)}
}

// sanitizeStatus returns a remote job whose status says what it says in texts, counts and times fit to be shown as ours, and whether it is
// small enough to be copied. The object itself is not changed.
func (o Original) sanitizeStatus(remote client.Object) (shown client.Object, small bool) {
	t := textSanitizer{span: o.statusSpan(remote)}
	t.visitStruct(statusField(remote), "")
	if t.size > MaxStatus || !t.changed && !needsAlignment(o.Job, remote) {
		return remote, t.size <= MaxStatus
	}
	shown, ok := remote.DeepCopyObject().(client.Object)
	if !ok {
		panic("mirror: the copy of a job is not an object")
	}
	t.replace = true
	t.visitStruct(statusField(shown), "")
	alignTimes(o.Job, shown)
	return shown, true
}

// statusField is the status of an object; the zero Value if it has none.
func statusField(obj client.Object) reflect.Value {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return reflect.ValueOf(u.Object["status"])
	}
	v := reflect.Indirect(reflect.ValueOf(obj))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName("Status")
}

// textSanitizer walks through a status: what it weighs, and whether it has messages, counts or times that are not fit to be shown.
type textSanitizer struct {
	span    timeSpan // of its times
	replace bool     // them, too
	changed bool
	size    int
}

// visitStruct visits all texts below a value. Name is that of the field that holds it.
func (t *textSanitizer) visitStruct(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		t.text(v, name)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.visitStruct(v.Elem(), name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			t.visitStruct(v.Index(i), name)
		}
	case reflect.Struct:
		if at, is := v.Interface().(metav1.Time); is {
			t.time(v, at)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.visitStruct(v.Field(i), v.Type().Field(i).Name)
			}
		}
	case reflect.Map:
		t.entries(v)
	case reflect.Int, reflect.Int32, reflect.Int64:
		t.size += number
		t.count(v, v.Int())
	default:
		t.size += number
	}
}

// number is what one weighs.
const number = 8

func (t *textSanitizer) count(v reflect.Value, n int64) {
	plausible := plausibleCount(n)
	t.changed = t.changed || plausible != n
	if t.replace && v.CanSet() {
		v.SetInt(plausible)
	}
}

func (t *textSanitizer) time(v reflect.Value, at metav1.Time) {
	t.size += 3 * number
	plausible := t.span.clamp(at.Time)
	t.changed = t.changed || !plausible.Equal(at.Time)
	if t.replace && v.CanSet() && !plausible.Equal(at.Time) {
		v.Set(reflect.ValueOf(metav1.NewTime(plausible)))
	}
}

// text judges one text, and puts the clean one in its place if it may.
func (t *textSanitizer) text(v reflect.Value, name string) {
	t.size += v.Len()
	if name != "Message" || v.Len() > MaxStatus {
		return
	}
	plain := kube.Sanitize(v.String(), kube.MaxConditionMessage)
	t.changed = t.changed || plain != v.String()
	if t.replace && v.CanSet() {
		v.SetString(plain)
	}
}

// entries visits what a map holds, whose values cannot be set but by their keys.
func (t *textSanitizer) entries(v reflect.Value) {
	for _, key := range v.MapKeys() {
		t.size += len(key.String())
		value := v.MapIndex(key)
		fit, judged := t.entry(key.String(), value.Interface())
		if !judged {
			t.visitStruct(value, "")
			continue
		}
		t.changed = t.changed || fit != value.Interface()
		if t.replace {
			v.SetMapIndex(key, reflect.ValueOf(fit))
		}
	}
}

// entry returns what can be shown of a value under a name of an object without Go type.
func (t *textSanitizer) entry(name string, value any) (fit any, judged bool) {
	switch is := value.(type) {
	case string:
		t.size += len(is)
		if name == "message" {
			return kube.Sanitize(is, kube.MaxConditionMessage), true
		}
		at, err := time.Parse(time.RFC3339, is)
		if plausible := t.span.clamp(at); err == nil && strings.HasSuffix(name, "Time") && !plausible.Equal(at) {
			return plausible.UTC().Format(time.RFC3339), true
		}
		return is, true
	case int64:
		if slices.Contains(counts(), name) {
			t.size += number
			return plausibleCount(is), true
		}
	case float64:
		if slices.Contains(counts(), name) {
			t.size += number
			return min(max(is, 0), MaxCount), true
		}
	}
	return nil, false
}

// counts are the names under which kinds without Go type count pods. What else is a number may be anything.
func counts() []string {
	return []string{"active", "ready", "succeeded", "failed", "terminating", "suspended", "restarts", "replicas", "readyReplicas"}
}
