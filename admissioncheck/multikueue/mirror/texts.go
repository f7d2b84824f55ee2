package mirror

import (
	"reflect"

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
	return &dispatch.Outcome{Reason: kube.Plain(reason, wire.MaxText), Message: kube.Plain(message, kube.MaxConditionMessage)}
}

// presentable returns a remote job whose status says to people what it says in texts fit to be shown as ours, and whether it is small
// enough to be copied. The object itself is not changed.
func presentable(remote client.Object) (shown client.Object, small bool) {
	t := texts{}
	t.visit(statusOf(remote), "")
	if t.size > MaxStatus || !t.nasty {
		return remote, t.size <= MaxStatus
	}
	shown, ok := remote.DeepCopyObject().(client.Object)
	if !ok {
		panic("mirror: the copy of a job is not an object")
	}
	t = texts{clean: true}
	t.visit(statusOf(shown), "")
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

// texts walks through a status: what it weighs, and whether it has messages that are not fit to be shown.
type texts struct {
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
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.visit(v.Field(i), v.Type().Field(i).Name)
			}
		}
	case reflect.Map:
		t.entries(v)
	default:
		const number = 8
		t.size += number
	}
}

// text judges one text, and puts the clean one in its place if it may.
func (t *texts) text(v reflect.Value, name string) {
	t.size += v.Len()
	if name != "Message" || v.Len() > MaxStatus {
		return
	}
	plain := kube.Plain(v.String(), kube.MaxConditionMessage)
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
		message, is := value.Interface().(string)
		if key.String() != "message" || !is {
			t.visit(value, "")
			continue
		}
		t.size += len(message)
		plain := kube.Plain(message, kube.MaxConditionMessage)
		t.nasty = t.nasty || plain != message
		if t.clean {
			v.SetMapIndex(key, reflect.ValueOf(plain))
		}
	}
}
