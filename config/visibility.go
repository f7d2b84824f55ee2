package config

import (
	"bytes"
	_ "embed" // for what is read here
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed visibility/apiservices.yaml
var apiServices []byte

//go:embed access/apiservice.yaml
var accessAPIService []byte

//go:embed access/roles.yaml
var accessRoles []byte

//go:embed logtails/role.yaml
var logTailRole []byte

//go:embed rbac/user_roles.yaml
var userRoles []byte

// APIServices are what aggregates the API for pending workloads, in both versions, into that of a cluster.
func APIServices() ([]*unstructured.Unstructured, error) { return readObjects(apiServices) }

// Access is what aggregates the API by which people look after their jobs on workers into that of a hub, and lets them reach it.
func Access() ([]*unstructured.Unstructured, error) {
	return readObjects(bytes.Join([][]byte{accessAPIService, accessRoles}, []byte("\n---\n")))
}

// LogTails is what lets a hub keep how the logs of failed jobs end.
func LogTails() ([]*unstructured.Unstructured, error) { return readObjects(logTailRole) }

// UserRoles are the ClusterRoles of people.
func UserRoles() ([]*unstructured.Unstructured, error) { return readObjects(userRoles) }

// readObjects decodes the documents of a file.
func readObjects(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, fmt.Errorf("decoding a manifest: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
