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

// presentable returns a remote job whose status says what it says in texts, counts and times fit to be shown as ours, and whether it is
// small enough to be copied. The object itself is not changed.
func (o Original) presentable(remote client.Object) (shown client.Object, small bool) {
	t := texts{span: o.statusSpan(remote)}
	t.visit(statusOf(remote), "")
	if t.size > MaxStatus || !t.nasty && !disorderly(o.Job, remote) {
		return remote, t.size <= MaxStatus
	}
	shown, ok := remote.DeepCopyObject().(client.Object)
	if !ok {
		panic("mirror: the copy of a job is not an object")
	}
	t.clean = true
	t.visit(statusOf(shown), "")
	orderly(o.Job, shown)
	return shown, true
}

// statusOf is the status of an object; the zero Value if it has none.
func statusOf(obj client.Object) reflect.Value {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return reflect.ValueOf(u.Object["status"])
	}
	v := reflect.Indirect(reflect.ValueOf(obj))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName("Status")
}

// texts walks through a status: what it weighs, and whether it has messages, counts or times that are not fit to be shown.
type texts struct {
	span  span // of its times
	clean bool // them, too
	nasty bool
	size  int
}

func (t *texts) visit(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		t.text(v, name)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.visit(v.Elem(), name)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			t.visit(v.Index(i), name)
		}
	case reflect.Struct:
		if at, is := v.Interface().(metav1.Time); is {
			t.time(v, at)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.visit(v.Field(i), v.Type().Field(i).Name)
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

func (t *texts) count(v reflect.Value, n int64) {
	plausible := plausibleCount(n)
	t.nasty = t.nasty || plausible != n
	if t.clean && v.CanSet() {
		v.SetInt(plausible)
	}
}

func (t *texts) time(v reflect.Value, at metav1.Time) {
	t.size += 3 * number
	plausible := t.span.judge(at.Time)
	t.nasty = t.nasty || !plausible.Equal(at.Time)
	if t.clean && v.CanSet() && !plausible.Equal(at.Time) {
		v.Set(reflect.ValueOf(metav1.NewTime(plausible)))
	}
}

// text judges one text, and puts the clean one in its place if it may.
func (t *texts) text(v reflect.Value, name string) {
	t.size += v.Len()
	if name != "Message" || v.Len() > MaxStatus {
		return
	}
	plain := kube.Sanitize(v.String(), kube.MaxConditionMessage)
	t.nasty = t.nasty || plain != v.String()
	if t.clean && v.CanSet() {
		v.SetString(plain)
	}
}

// entries visits what a map holds, whose values cannot be set but by their keys.
func (t *texts) entries(v reflect.Value) {
	for _, key := range v.MapKeys() {
		t.size += len(key.String())
		value := v.MapIndex(key)
		fit, judged := t.entry(key.String(), value.Interface())
		if !judged {
			t.visit(value, "")
			continue
		}
		t.nasty = t.nasty || fit != value.Interface()
		if t.clean {
			v.SetMapIndex(key, reflect.ValueOf(fit))
		}
	}
}

// entry returns what can be shown of a value under a name of an object without Go type.
func (t *texts) entry(name string, value any) (fit any, judged bool) {
	switch is := value.(type) {
	case string:
		t.size += len(is)
		if name == "message" {
			return kube.Sanitize(is, kube.MaxConditionMessage), true
		}
		at, err := time.Parse(time.RFC3339, is)
		if plausible := t.span.judge(at); err == nil && strings.HasSuffix(name, "Time") && !plausible.Equal(at) {
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
