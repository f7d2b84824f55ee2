package memory

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// create stores a new object. Status is left out where it is a subresource.
func (c *collection) create(namespace string, fields map[string]any) (*object, error) {
	u := unstructured.Unstructured{Object: fields}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + rand.String(5))
	}
	if u.GetName() == "" {
		return nil, apierrors.NewBadRequest("the object has no name")
	}
	if c.Status {
		delete(fields, "status")
	}
	if c.Namespaced {
		u.SetNamespace(namespace)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[objectKey(u.GetNamespace(), u.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(c.resource(), u.GetName())
	}
	return c.add(u, uuid.NewUUID())
}

// add stores an object for the first time; mu is held.
func (c *collection) add(u unstructured.Unstructured, uid types.UID) (*object, error) {
	u.SetGroupVersionKind(c.GroupVersionKind)
	u.SetUID(uid)
	u.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	u.SetGeneration(1)
	u.SetManagedFields(nil)
	now, err := c.put(u.Object)
	if err == nil {
		c.notifyWatchers()
	}
	return now, err
}

func (c *collection) notifyWatchers() {
	if c.tell != nil {
		c.tell(c.last())
	}
}

// modify replaces an object by what a function makes of it. Of the result only the status counts if sub says so, else
// everything but the status where that is a subresource. A result that differs in nothing is not written.
func (c *collection) modify(namespace, name, sub string, change func(live map[string]any) (map[string]any, error)) (*object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.objects[objectKey(namespace, name)]
	if was == nil {
		return nil, apierrors.NewNotFound(c.resource(), name)
	}
	live := was.fields()
	next, err := change(was.fields())
	if err != nil {
		return nil, err
	}
	if err := c.check(live, next); err != nil {
		return nil, err
	}
	c.complete(sub, live, next)
	if reflect.DeepEqual(live, next) {
		return was, nil
	}
	u := unstructured.Unstructured{Object: next}
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		err := c.remove(next)
		c.notifyWatchers()
		return c.last().now, err
	}
	now, err := c.put(next)
	if err == nil {
		c.notifyWatchers()
	}
	return now, err
}

// check refuses a change that was made to another version, or another object of the name.
func (c *collection) check(live, next map[string]any) error {
	was, is := unstructured.Unstructured{Object: live}, unstructured.Unstructured{Object: next}
	if version := is.GetResourceVersion(); version != "" && version != was.GetResourceVersion() {
		return apierrors.NewConflict(c.resource(), was.GetName(), fmt.Errorf("the object has been modified: %s is not %s", version, was.GetResourceVersion()))
	}
	if uid := is.GetUID(); uid != "" && uid != was.GetUID() {
		return apierrors.NewConflict(c.resource(), was.GetName(), fmt.Errorf("the uid is %s, not %s", was.GetUID(), uid))
	}
	return nil
}

// complete takes from the live object what a change cannot change.
func (c *collection) complete(sub string, live, next map[string]any) {
	kept := []string{"apiVersion", "kind"}
	switch {
	case sub == "status":
		status, found := next["status"]
		clear(next)
		maps.Copy(next, live)
		delete(next, "status")
		if found {
			next["status"] = status
		}
		return
	case c.Status:
		kept = append(kept, "status")
	}
	for _, name := range kept {
		delete(next, name)
		if value, found := live[name]; found {
			next[name] = value
		}
	}
	was, is := unstructured.Unstructured{Object: live}, unstructured.Unstructured{Object: next}
	is.SetName(was.GetName())
	if namespace := was.GetNamespace(); namespace != "" {
		is.SetNamespace(namespace)
	}
	is.SetUID(was.GetUID())
	is.SetResourceVersion(was.GetResourceVersion())
	is.SetCreationTimestamp(was.GetCreationTimestamp())
	is.SetDeletionTimestamp(was.GetDeletionTimestamp())
	is.SetManagedFields(nil)
	is.SetGeneration(was.GetGeneration())
	if !reflect.DeepEqual(live["spec"], next["spec"]) {
		is.SetGeneration(was.GetGeneration() + 1)
	}
}

// delete removes an object, or marks it as going while it has finalizers. Nothing is done for its dependents: there is no
// garbage collector.
func (c *collection) delete(namespace, name string, options *metav1.DeleteOptions) (*object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.objects[objectKey(namespace, name)]
	if was == nil {
		return nil, apierrors.NewNotFound(c.resource(), name)
	}
	u := unstructured.Unstructured{Object: was.fields()}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != u.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != strconv.FormatUint(was.version, 10) {
			return nil, apierrors.NewConflict(c.resource(), name, fmt.Errorf("the preconditions do not hold"))
		}
	}
	if len(u.GetFinalizers()) == 0 {
		err := c.remove(u.Object)
		c.notifyWatchers()
		return c.last().now, err
	}
	if u.GetDeletionTimestamp() != nil {
		return was, nil
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	u.SetDeletionTimestamp(&now)
	u.SetGeneration(u.GetGeneration() + 1)
	going, err := c.put(u.Object)
	if err == nil {
		c.notifyWatchers()
	}
	return going, err
}
