package memory

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// serve does what a call asks for and answers, unless it returns an error.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c request) error {
	var o *object
	var err error
	code := http.StatusOK
	switch c.verb {
	case verbGet:
		o, err = c.of.get(c.namespace, c.name)
	case verbList:
		if c.query.Get("watch") != "" {
			return s.watch(w, r, c)
		}
		return c.of.list(w, c)
	case verbWatch:
		return s.watch(w, r, c)
	case verbCreate:
		code = http.StatusCreated
		o, err = s.create(r, c)
	case verbUpdate:
		var fields map[string]any
		if fields, err = s.body(r); err == nil {
			o, err = c.of.modify(c.namespace, c.name, c.sub, func(map[string]any) (map[string]any, error) { return fields, nil })
		}
	case verbPatch:
		o, err = s.patch(r, c)
	case verbDelete:
		o, err = s.delete(r, c)
	}
	if err != nil {
		return err
	}
	write(w, code, o.data)
	return nil
}

func (s *Server) create(r *http.Request, c request) (*object, error) {
	fields, err := s.body(r)
	if err != nil {
		return nil, err
	}
	if !c.of.Forget {
		return c.of.create(c.namespace, fields)
	}
	u := unstructured.Unstructured{Object: fields}
	u.SetUID(uuid.NewUUID())
	u.SetResourceVersion("1")
	u.SetGroupVersionKind(c.of.GroupVersionKind)
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &object{data: data}, nil
}

func (s *Server) patch(r *http.Request, c request) (*object, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	kind := types.PatchType(r.Header.Get("Content-Type"))
	change := func(live map[string]any) (map[string]any, error) {
		return c.of.patched(kind, live, data, c.query.Get("fieldManager"))
	}
	o, err := c.of.modify(c.namespace, c.name, c.sub, change)
	if !apierrors.IsNotFound(err) || kind != types.ApplyPatchType || c.sub != "" {
		return o, err
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return c.of.create(c.namespace, fields) // an apply creates what is not there
}

func (s *Server) delete(r *http.Request, c request) (*object, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	options := &metav1.DeleteOptions{}
	switch {
	case len(data) == 0:
	case strings.HasPrefix(r.Header.Get("Content-Type"), protobuf):
		var unknown runtime.Unknown
		if err = unknown.Unmarshal(data[min(4, len(data)):]); err == nil { // behind the magic number
			err = options.Unmarshal(unknown.Raw)
		}
	default:
		err = json.Unmarshal(data, options)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode the options: %v", err))
	}
	return c.of.delete(c.namespace, c.name, options)
}

// body decodes an object.
func (s *Server) body(r *http.Request) (map[string]any, error) {
	data, err := io.ReadAll(r.Body)
	if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), protobuf) {
		var typed runtime.Object
		if typed, _, err = s.codecs.UniversalDeserializer().Decode(data, nil, nil); err == nil {
			data, err = json.Marshal(typed)
		}
	}
	fields := map[string]any{}
	if err == nil {
		err = utiljson.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode the object: %v", err))
	}
	return fields, nil
}
