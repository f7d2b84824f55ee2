package visibility

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	visibility "switchyard.dev/apis/visibility/v1beta2"
)

// definitions describe the types in OpenAPI.
func definitions(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	d := describer{ref: ref, all: map[string]openapicommon.OpenAPIDefinition{}}
	pending := d.refTo(visibility.PendingWorkloadsSummary{}, "What waits in it.")
	d.object(visibility.ClusterQueue{}, "ClusterQueue is what one may ask about a ClusterQueue.", true, field{"pendingWorkloadsSummary", pending})
	d.object(visibility.LocalQueue{}, "LocalQueue is what one may ask about a LocalQueue.", true, field{"pendingWorkloadsSummary", pending})
	d.list(visibility.ClusterQueueList{}, "ClusterQueueList is a list of ClusterQueues.", visibility.ClusterQueue{})
	d.list(visibility.LocalQueueList{}, "LocalQueueList is a list of LocalQueues.", visibility.LocalQueue{})
	d.object(visibility.PendingWorkloadsSummary{}, "PendingWorkloadsSummary is part of what waits in a queue, in its order.", true,
		field{"items", d.arrayOf(visibility.PendingWorkload{}, "The workloads.")})
	d.object(visibility.PendingWorkload{}, "PendingWorkload is a workload that waits.", false,
		field{"metadata", d.refTo(metav1.ObjectMeta{}, "Its name, namespace, creation time and owners.")},
		field{"priority", integer("int32", "The priority of its specification.")},
		field{"localQueueName", text("The LocalQueue that it came through.")},
		field{"positionInClusterQueue", integer("int32", "How many wait before it in its ClusterQueue.")},
		field{"positionInLocalQueue", integer("int32", "How many of the same LocalQueue wait before it.")})
	d.object(visibility.PendingWorkloadOptions{}, "PendingWorkloadOptions say which part of a queue is asked for.", false,
		field{"offset", integer("int64", "How many workloads to skip.")},
		field{"limit", integer("int64", "How many workloads to answer with at most; 1000 if it is 0.")})
	return d.all
}

// describer collects definitions.
type describer struct {
	ref openapicommon.ReferenceCallback
	all map[string]openapicommon.OpenAPIDefinition
}

// field is a field of an object, by its name in JSON.
type field struct {
	name   string
	schema spec.Schema
}

// object defines a type with these fields, besides those that every kind has.
func (d describer) object(of util.OpenAPIModelNamer, description string, isKind bool, fields ...field) {
	if isKind {
		fields = append(fields, field{"metadata", d.refTo(metav1.ObjectMeta{}, "")})
	}
	if _, nested := of.(visibility.PendingWorkload); !nested {
		fields = append(fields,
			field{"kind", text("The kind of this object.")}, field{"apiVersion", text("The group and version of this object.")})
	}
	s := spec.Schema{SchemaProps: spec.SchemaProps{Description: description, Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
	for _, f := range fields {
		s.Properties[f.name] = f.schema
	}
	d.all[of.OpenAPIModelName()] = openapicommon.OpenAPIDefinition{Schema: s, Dependencies: d.dependencies(fields)}
}

// list defines a list of a type.
func (d describer) list(of util.OpenAPIModelNamer, description string, items util.OpenAPIModelNamer) {
	d.object(of, description, false,
		field{"metadata", d.refTo(metav1.ListMeta{}, "")}, field{"items", d.arrayOf(items, "The objects.")})
}

// dependencies are the names of the types that fields refer to.
func (d describer) dependencies(fields []field) []string {
	var names []string
	for _, of := range []util.OpenAPIModelNamer{
		metav1.ObjectMeta{}, metav1.ListMeta{}, visibility.ClusterQueue{}, visibility.LocalQueue{}, visibility.PendingWorkloadsSummary{},
		visibility.PendingWorkload{},
	} {
		ref := d.ref(of.OpenAPIModelName())
		for _, f := range fields {
			if f.schema.Ref.String() == ref.String() || f.schema.Items != nil && f.schema.Items.Schema.Ref.String() == ref.String() {
				names = append(names, of.OpenAPIModelName())
				break
			}
		}
	}
	return names
}

func (d describer) refTo(of util.OpenAPIModelNamer, description string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Description: description, Ref: d.ref(of.OpenAPIModelName())}}
}

func (d describer) arrayOf(items util.OpenAPIModelNamer, description string) spec.Schema {
	of := d.refTo(items, "")
	return spec.Schema{SchemaProps: spec.SchemaProps{Description: description, Type: []string{"array"}, Items: &spec.SchemaOrArray{Schema: &of}}}
}

func integer(format, description string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Description: description, Type: []string{"integer"}, Format: format}}
}

func text(description string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Description: description, Type: []string{"string"}}}
}
