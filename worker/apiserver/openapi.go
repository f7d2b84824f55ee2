package apiserver

import (
	"maps"

	metadefinitions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapicommon "k8s.io/kube-openapi/pkg/common"
)

// title is that of the descriptions (contract: kueue-api.md 1.17).
const title = "Kueue visibility-server"

// describe has the groups described in OpenAPI.
func describe(c *genericapiserver.Config, groups []Group) {
	schemes := []*runtime.Scheme{Scheme()}
	for _, group := range groups {
		schemes = append(schemes, group.Scheme)
	}
	names := openapi.NewDefinitionNamer(schemes...)
	definitions := func(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
		all := metadefinitions.GetOpenAPIDefinitions(ref)
		for _, group := range groups {
			maps.Copy(all, group.Definitions(ref))
		}
		return all
	}
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, names)
	c.OpenAPIConfig.Info.Title = title
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, names)
	c.OpenAPIV3Config.Info.Title = title
}
