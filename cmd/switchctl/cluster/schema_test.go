package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi/openapitest"

	"switchyard.dev/cmd/switchctl/kubeclient"
)

func TestAFieldOfAKindWithoutPublishedSchemaIsNotKnown(t *testing.T) {
	s := &kubeclient.Client{Schemas: openapitest.NewFakeClient()}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"}
	if has, known := hasField(s, kind, "spec"); has || known {
		t.Errorf("has %v, known %v", has, known)
	}
}
