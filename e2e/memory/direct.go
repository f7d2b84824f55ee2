package memory

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Put creates an object, its status included, without a request: as if by hand on the server.
func (s *Server) Put(plural string, o client.Object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode %s on %s: %w", o.GetName(), s.Name, err)
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("encode %s on %s: %w", o.GetName(), s.Name, err)
	}
	c := s.collection(plural)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[objectKey(o.GetNamespace(), o.GetName())] != nil {
		return fmt.Errorf("%s %s is on %s already", plural, o.GetName(), s.Name)
	}
	_, err = c.add(unstructured.Unstructured{Object: fields}, uuid.NewUUID())
	return err
}

// Change changes an object in place, its status included, without a request. The function must not touch what only a server
// sets.
func (s *Server) Change(plural, namespace, name string, change func(fields map[string]any)) error {
	c := s.collection(plural)
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.objects[objectKey(namespace, name)]
	if was == nil {
		return apierrors.NewNotFound(c.resource(), name)
	}
	fields := was.fields()
	change(fields)
	_, err := c.put(fields)
	if err == nil {
		c.notifyWatchers()
	}
	return err
}

// Get decodes an object.
func (s *Server) Get(plural, namespace, name string, into client.Object) error {
	o, err := s.collection(plural).get(namespace, name)
	if err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(o.data)).Decode(into); err != nil {
		return fmt.Errorf("decode %s of %s: %w", name, s.Name, err)
	}
	return nil
}

// Count is how many objects of a resource there are.
func (s *Server) Count(plural string) int {
	c := s.collection(plural)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.objects)
}

// collection of a plural, which must be served.
func (s *Server) collection(plural string) *collection {
	for _, c := range s.resources {
		if c.Plural == plural {
			return c
		}
	}
	panic("memory: " + plural + " are not served")
}

// Certificate is the one that it serves with, and its key, PEM-encoded: for programs on the same machine that need one.
func (s *Server) Certificate() (certificate, key []byte, err error) {
	pair := s.http.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key of %s: %w", s.Name, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Text is an object as the server keeps it, in JSON.
func (s *Server) Text(plural, namespace, name string) (string, error) {
	o, err := s.collection(plural).get(namespace, name)
	if err != nil {
		return "", err
	}
	return string(o.data), nil
}

// Restore stores an object as it is, with its UID, its times and its status.
func (s *Server) Restore(plural, text string) error {
	fields := map[string]any{}
	if err := utiljson.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("restore on %s: %w", s.Name, err)
	}
	c := s.collection(plural)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.put(fields)
	return err
}
