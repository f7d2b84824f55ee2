package v1beta2

import corev1 "k8s.io/api/core/v1"

// Resources says how requests are counted.
type Resources struct {
	// QuotaCheckStrategy for resources without quota.
	QuotaCheckStrategy QuotaCheckStrategy `json:"quotaCheckStrategy,omitempty"`
	// ExcludeResourcePrefixes are prefixes of names of resources that do not count.
	ExcludeResourcePrefixes []string `json:"excludeResourcePrefixes,omitempty"`
	// Transformations of resources into others.
	Transformations []ResourceTransformation `json:"transformations,omitempty"`
	// DeviceClassMappings count devices as resources.
	DeviceClassMappings []DeviceClassMapping `json:"deviceClassMappings,omitempty"`
}

// QuotaCheckStrategy says what a request for a resource without quota does.
type QuotaCheckStrategy string

const (
	// BlockUndeclared keeps the workload from being admitted; also what empty means.
	BlockUndeclared QuotaCheckStrategy = "BlockUndeclared"
	// IgnoreUndeclared does not count the resource.
	IgnoreUndeclared QuotaCheckStrategy = "IgnoreUndeclared"
)

// ResourceTransformation turns a resource into others.
type ResourceTransformation struct {
	// Input is the resource that is turned.
	Input corev1.ResourceName `json:"input"`
	// Strategy for the input itself. Never nil after defaulting.
	Strategy *ResourceTransformationStrategy `json:"strategy,omitempty"`
	// MultiplyBy multiplies the outputs by the quantity of this resource too.
	MultiplyBy corev1.ResourceName `json:"multiplyBy,omitempty"`
	// Outputs for one unit of the input.
	Outputs corev1.ResourceList `json:"outputs,omitempty"`
}

// ResourceTransformationStrategy says whether the input is counted.
type ResourceTransformationStrategy string

const (
	// Retain counts the input beside the outputs.
	Retain ResourceTransformationStrategy = "Retain"
	// Replace counts the outputs only.
	Replace ResourceTransformationStrategy = "Replace"
)

// DeviceClassMapping counts devices of some classes as one resource.
type DeviceClassMapping struct {
	// Name of the resource.
	Name corev1.ResourceName `json:"name"`
	// DeviceClassNames are the classes.
	DeviceClassNames []corev1.ResourceName `json:"deviceClassNames"`
	// Sources say what of a device is counted; none counts devices.
	Sources []DeviceClassSource `json:"sources,omitempty"`
}

// DeviceClassSource says what of a device is counted; exactly one member is set.
type DeviceClassSource struct {
	// Counter counts a shared counter.
	Counter *DeviceQuantitySource `json:"counter,omitempty"`
	// Capacity counts a capacity.
	Capacity *DeviceQuantitySource `json:"capacity,omitempty"`
}

// DeviceQuantitySource names a counter or a capacity of devices.
type DeviceQuantitySource struct {
	// Name of the counter or capacity.
	Name string `json:"name"`
	// Driver of the devices.
	Driver string `json:"driver"`
	// DeviceSelector is a CEL expression over devices; empty, all.
	DeviceSelector string `json:"deviceSelector,omitempty"`
}
