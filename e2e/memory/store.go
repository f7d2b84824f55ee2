package memory

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// object is one version of an object. It is never changed.
type object struct {
	namespace, name string
	labels          labels.Set
	version         uint64
	data            []byte
}

// fields decodes the object; the caller owns the result.
func (o *object) fields() map[string]any {
	m := map[string]any{}
	if err := utiljson.Unmarshal(o.data, &m); err != nil {
		panic("memory: an object that was encoded here cannot be decoded: " + err.Error())
	}
	return m
}

// Change is one change of one object.
type Change struct {
	Type watch.EventType
	// Resource of the object, its plural.
	Resource        string
	Namespace, Name string
	now, before     *object
}

// Fields are the object as it is now, or was last; the caller owns them.
func (c Change) Fields() map[string]any { return c.now.fields() }

// maxHistory is how many changes of a resource are kept for watches that begin in the past.
const maxHistory = 20_000

// collection holds all objects of one resource and what has changed lately.
type collection struct {
	Resource
	versions *atomic.Uint64
	tell     func(Change)

	mu      sync.RWMutex
	objects map[string]*object
	// applied is what each field manager applied last, by object.
	applied map[string]map[string]map[string]any
	// log are the changes since the version trimmed; begun counts those before it. changed is closed, and replaced, with
	// each change.
	log     []Change
	begun   int
	trimmed uint64
	changed chan struct{}
}

func newCollection(r Resource, versions *atomic.Uint64) *collection {
	return &collection{
		Resource: r, versions: versions, objects: map[string]*object{}, applied: map[string]map[string]map[string]any{},
		changed: make(chan struct{}),
	}
}

func objectKey(namespace, name string) string { return namespace + "/" + name }

func (c *collection) get(namespace, name string) (*object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if o := c.objects[objectKey(namespace, name)]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(c.resource(), name)
}

// put stores a version of an object; mu is held.
func (c *collection) put(fields map[string]any) (*object, error) {
	u := unstructured.Unstructured{Object: fields}
	version := c.versions.Add(1)
	u.SetResourceVersion(strconv.FormatUint(version, 10))
	data, err := utiljson.Marshal(fields)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	now := &object{namespace: u.GetNamespace(), name: u.GetName(), labels: u.GetLabels(), version: version, data: data}
	key := objectKey(now.namespace, now.name)
	before := c.objects[key]
	c.objects[key] = now
	kind := watch.Modified
	if before == nil {
		kind = watch.Added
	}
	c.append(Change{Type: kind, now: now, before: before})
	return now, nil
}

// remove takes an object away; mu is held. The last version bears the version of the deletion.
func (c *collection) remove(fields map[string]any) error {
	now, err := c.put(fields)
	if err != nil {
		return err
	}
	key := objectKey(now.namespace, now.name)
	delete(c.objects, key)
	delete(c.applied, key)
	last := &c.log[len(c.log)-1]
	last.Type = watch.Deleted
	return nil
}

func (c *collection) append(change Change) {
	change.Resource, change.Namespace, change.Name = c.Plural, change.now.namespace, change.now.name
	c.log = append(c.log, change)
	if spare := len(c.log) - maxHistory; spare > maxHistory/4 {
		c.trimmed = c.log[spare-1].now.version
		c.begun += spare
		c.log = append([]Change(nil), c.log[spare:]...)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// last is the change that was made just now; mu is held.
func (c *collection) last() Change { return c.log[len(c.log)-1] }

// asStatus is errors.As for errors of the API.
func asStatus(err error, target *apierrors.APIStatus) bool { return errors.As(err, target) }
